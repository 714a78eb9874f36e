from pathlib import Path
def write(results: Path) -> None:
    pass
