from dialeval.hub.spaces import launch

if __name__ == "__main__":
    launch("win_rate")
