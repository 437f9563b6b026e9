"""Read XML documents; files that could include others or expand without limit are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike
from xml.parsers import expat

from pyapsp.base.errors import ModelError

__all__ = ["Element", "parse_document"]

# Readers and simulators follow a document by recursion. No model comes close.
DEPTH = 400


@dataclass(slots=True, eq=False)
class Element:
    """An element of a document, with the line on which it begins."""

    # Local name and URI.
    name: str
    namespace: str
    attributes: dict[str, str]  # values by local name
    line: int  # from 1
    parts: list[str | Element] = field(default_factory=list)  # the content, in order

    @property
    def children(self) -> list[Element]:
        """The elements in the content."""
        return [part for part in self.parts if isinstance(part, Element)]

    @property
    def text(self) -> str:
        """The characters in the content, without space at the ends."""
        return "".join(part for part in self.parts if isinstance(part, str)).strip()

    def get(self, attribute: str) -> str:
        """Return the value of an attribute without space at the ends, empty if it is not given."""
        return self.attributes.get(attribute, "").strip()

    def all(self, *names: str) -> Iterator[Element]:
        """Yield the elements at the end of a path of names."""
        for child in self.children:
            if child.name == names[0]:
                if len(names) == 1:
                    yield child
                else:
                    yield from child.all(*names[1:])

    def first(self, *names: str) -> Element | None:
        """Return the first element at the end of a path of names."""
        return next(self.all(*names), None)

    def text_of(self, *names: str) -> str:
        """Return the text of the first element at the end of a path of names, or nothing."""
        part = self.first(*names)
        return "" if part is None else part.text


def parse_document(data: bytes, path: str | PathLike[str]) -> Element:
    """Read an XML document and return its root.

    A document type declaration is refused, so there are no entities that could grow or name
    other files. No model format needs one.

    Raises
    ------
    ModelError
        The text is not XML, has a document type, or nests too deeply.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    root = Element("", "", {}, 1)
    open_elements = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        line = parser.CurrentLineNumber
        if len(open_elements) > DEPTH:
            raise ModelError(path, "XML", f"more than {DEPTH} elements inside each other", line)
        namespace, _, local = name.rpartition(" ")
        named = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        element = Element(local, namespace, named, line)
        open_elements[-1].parts.append(element)
        open_elements.append(element)

    def doctype(name: str, system: str | None, public: str | None, subset: int) -> None:
        raise ModelError(
            path, "DOCTYPE", "a document type is not supported", parser.CurrentLineNumber
        )

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = lambda text: open_elements[-1].parts.append(text)
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise ModelError(path, "XML", message, error.lineno) from None
    except (ValueError, LookupError) as error:  # an encoding that Python does not know
        raise ModelError(path, "XML", str(error)) from None
    return root.children[0]
