"""Pages of the web as text: `reader` asks, `child` works in a process of its own, `html_text` knows HTML.

What comes from the web may be made to hurt whoever parses it: three hundred kilobytes of `<div>` keep a good HTML5
parser busy for seventeen seconds, and one written in C that fails takes its process along. So each page is read in a
process with limits of time and memory, which is killed when the reader no longer waits (docs/decisions/0010).
"""
