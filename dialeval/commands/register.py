"""`dialeval register`: the metric modules where `evaluate.load` finds them in any folder."""

from rich.markup import escape

from dialeval.commands.console import out, say


def register() -> None:
    """Write the metric modules to the cache of `evaluate`, and tell where.

    Importing dialeval does the same; this says whether it worked.
    """
    from dialeval.dialogues.sources import BadInput
    from dialeval.registration import modules_folder
    from dialeval.registration import register as write

    try:
        places = write()
    except OSError as error:
        raise BadInput(
            f"the cache of `evaluate` cannot be written: {error}.",
            modules_folder(),
            hint="Set HF_HOME or HF_MODULES_CACHE to a folder that can be written.",
        ) from None
    for name, place in places.items():
        out.print(f'evaluate.load("dialeval/{name}")  {escape(str(place))}', soft_wrap=True)
    say(f"{len(places)} modules of this installation load from any folder, offline too.")
