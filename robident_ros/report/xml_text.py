"""Where the links and joints of a robot description stand in its text, so as to edit in place."""

from dataclasses import dataclass, field
from typing import NamedTuple
from xml.parsers import expat

# Elements that are looked into, with their parents.
INSIDE = {'link': 'robot', 'joint': 'robot', 'inertial': 'link', 'dynamics': 'joint',
          'origin': 'inertial', 'mass': 'inertial', 'inertia': 'inertial'}


@dataclass
class Element:
    """
    An element and its span in the text.

    ``start_tag_end`` is behind the ``>`` of its start tag, ``end_tag_start`` before its end tag.
    """

    tag: str
    attributes: dict[str, str]
    start: int
    start_tag_end: int = 0
    end_tag_start: int = 0
    end: int = 0
    children: dict[str, 'Element'] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Return the name attribute."""
        return self.attributes.get('name', '')

    @property
    def is_empty(self) -> bool:
        """Whether it is written as one tag, ``<link/>``."""
        return self.end == self.start_tag_end

    def indent(self, text: str) -> str:
        """Return the white space before the element on its line."""
        line = text[text.rfind('\n', 0, self.start) + 1:self.start]
        return line if not line.strip() else ''


class Elements(NamedTuple):
    """The root element, and the links and joints by name."""

    root: Element
    links: dict[str, Element]
    joints: dict[str, Element]


class Replacement(NamedTuple):
    """New text for a span."""

    start: int
    end: int
    text: str


def replace_spans(text: str, changes: list[Replacement]) -> str:
    """Replace spans that do not overlap; all other text stays as it is."""
    line_end = '\r\n' if '\r\n' in text else '\n'
    for change in sorted(changes, reverse=True):
        change = change._replace(text=change.text.replace('\n', line_end))
        text = text[:change.start] + change.text + text[change.end:]
    return text


def find_elements(text: str) -> Elements:
    """Locate what can be edited; positions count characters of the text."""
    data = text.encode()
    parser = expat.ParserCreate('utf-8')
    stack: list[Element] = []
    found = Elements(Element('', {}, 0), {}, {})
    roots: list[Element] = []

    def start(tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, dict(attributes), parser.CurrentByteIndex)
        element.start_tag_end = _tag_end(data, element.start)
        parent = stack[-1] if stack else None
        if parent is None:
            roots.append(element)
        elif INSIDE.get(tag) == parent.tag and _is_expected(parent, stack):
            if parent.tag != 'robot':
                parent.children.setdefault(tag, element)
            else:
                (found.links if tag == 'link' else found.joints)[element.name] = element
        stack.append(element)

    def end(tag: str) -> None:
        element = stack.pop()
        element.end_tag_start = parser.CurrentByteIndex
        empty = data[element.start_tag_end - 2:element.start_tag_end] == b'/>'
        element.end = element.start_tag_end if empty else _tag_end(data, element.end_tag_start)

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.Parse(data, True)
    result = Elements(roots[0], found.links, found.joints)
    _count_characters(data, result)
    return result


def _is_expected(parent: Element, stack: list[Element]) -> bool:
    """Whether the parent stands where it should: a <joint> inside <transmission> is another."""
    depth = {'robot': 1, 'link': 2, 'joint': 2, 'inertial': 3}
    return len(stack) == depth.get(parent.tag)


def _tag_end(data: bytes, start: int) -> int:
    """Return the position behind the tag that starts here; ``>`` may stand in quotes."""
    quote = None
    for i in range(start, len(data)):
        c = data[i:i + 1]
        if quote:
            quote = None if c == quote else quote
        elif c in (b'"', b"'"):
            quote = c
        elif c == b'>':
            return i + 1
    return len(data)


def _count_characters(data: bytes, elements: Elements) -> None:
    """Turn byte positions into character positions."""
    if data.isascii():
        return

    def convert(element: Element) -> None:
        for key in ('start', 'start_tag_end', 'end_tag_start', 'end'):
            setattr(element, key, len(data[:getattr(element, key)].decode()))
        for child in element.children.values():
            convert(child)
    for element in (elements.root, *elements.links.values(), *elements.joints.values()):
        convert(element)
