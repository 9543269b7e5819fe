"""Text without meaning and without repetition, the same for the same seed: what a model says when told to say much."""

from collections.abc import Iterator

VOCABULARY = """
amber anchor apple arrow aspen autumn badger basil beacon birch bramble breeze bridge brook cabin candle
canyon cedar chalk cherry cinder circle clay cliff clover cobalt comet copper coral cotton crane creek crystal
daisy delta dune eagle ember fable falcon feather fennel fern field flint forest fox garden garnet glacier
granite grove harbor hazel heron hollow honey indigo iris island ivory jasmine juniper kettle lantern larch
laurel lemon lilac linen lotus maple marble meadow mercury mint mist moss nectar north nutmeg oak ocean olive
onyx opal orchard otter pebble pepper pine plum pollen poplar prairie quartz quill rain raven reed ridge river
robin rosemary saffron sage sand shadow shell silver slate sparrow spruce star stone storm summit thistle
thunder thyme timber topaz tulip valley velvet violet walnut water willow wind winter wren yarrow zephyr
""".split()  # noqa: SIM905 -- a list of strings would fill a page


def words(count: int, seed: int) -> Iterator[str]:
    """`count` pieces, each a word with the space before it (none before the first); no word twice in a row."""
    state, last = seed & 0x7FFFFFFF, -1
    for number in range(count):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        choice = (state >> 8) % len(VOCABULARY)
        if choice == last:
            choice = (choice + 1) % len(VOCABULARY)
        last = choice
        yield f" {VOCABULARY[choice]}" if number else VOCABULARY[choice]


def seed_of(digest: str) -> int:
    """The seed of a conversation: every one is answered differently, and always the same."""
    return int(digest[:8], 16)
