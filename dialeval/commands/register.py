"""`dialeval register`: install the metric modules for `evaluate.load`."""

from rich.markup import escape

from dialeval.commands.console import out, say


def register() -> None:
    """Write the metric modules to the cache of `evaluate`, and print their paths.

    Importing dialeval does the same; this command reports whether it worked.
    """
    from dialeval.dialogues.sources import BadInput
    from dialeval.registration import modules_folder
    from dialeval.registration import register as write

    try:
        paths = write()
    except OSError as error:
        raise BadInput(
            f"could not write to the cache of `evaluate`: {error}.",
            modules_folder(),
            hint="Set HF_HOME or HF_MODULES_CACHE to a writable folder.",
        ) from None
    for name, path in paths.items():
        out.print(f'evaluate.load("dialeval/{name}")  {escape(str(path))}', soft_wrap=True)
    say(f"{len(paths)} modules of this installation load from any folder, offline too.")
