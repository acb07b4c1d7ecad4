internal import HTTPClient

/// The links of the `Link` fields of an answer (RFC 8288, section 3). Pure.
///
/// A part that cannot be read is left out up to the next comma outside quotes, and remembered: a `next` in it
/// must not pass for the end of the pages.
package struct LinkHeader: Sendable, Equatable {
    struct Link: Sendable, Equatable {
        /// The text between `<` and `>`.
        var reference: String
        /// The relation types of the first `rel`, in lower case.
        var relations: [String] = []
        /// Whether the link is about another resource than the answer (section 3.2).
        var hasAnchor = false
        /// `results="false"`: the page behind it has no records, as Sentry says of its last page.
        var isEmpty = false
    }

    package enum Next: Sendable, Equatable {
        case none
        case reference(String)
        /// A part that seems to name the next page and is malformed.
        case unreadable(String)
    }

    /// Links of all fields together; more are not read.
    static let maxLinks = 1000

    private(set) var links: [Link] = []
    /// The parts that could not be read.
    private(set) var malformed: [String] = []

    /// - Parameter fields: the values of all `Link` fields, in their order.
    package init(_ fields: [String]) {
        for field in fields {
            var reader = Reader(rest: Array(field.utf8)[...])
            while links.count + malformed.count < Self.maxLinks, let part = reader.next() {
                switch part {
                case .link(let link): links.append(link)
                case .malformed(let text): malformed.append(text)
                }
            }
        }
    }

    /// The first link with the relation `next`. `next-page` is another relation.
    package var next: Next {
        if let link = links.first(where: { $0.relations.contains("next") && !$0.hasAnchor }) {
            return link.isEmpty ? .none : .reference(link.reference)
        }
        return malformed.first { $0.lowercased().contains("next") }.map { .unreadable($0) } ?? .none
    }

    private enum Part {
        case link(Link)
        case malformed(String)
    }

    /// Reads one field from its start.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func next() -> Part? {
            // Empty members of a list are permitted (RFC 9110, section 5.6.1).
            rest = rest.drop { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
            guard !rest.isEmpty else { return nil }
            let start = rest
            if let link = link() { return .link(link) }
            rest = start
            skipPart()
            return .malformed(String(decoding: start[..<rest.startIndex].prefix(200), as: UTF8.self))
        }

        private mutating func link() -> Link? {
            // A second `<`, or a quote, means that the `>` of this link is missing.
            guard rest.popFirst() == UInt8(ascii: "<"), let end = rest.firstIndex(where: { "<>\"".utf8.contains($0) }),
                rest[end] == UInt8(ascii: ">")
            else { return nil }
            var link = Link(reference: String(decoding: rest[..<end], as: UTF8.self).trimmed)
            rest = rest[end...].dropFirst()
            var hasRelation = false
            while true {
                skipSpace()
                switch rest.first {
                case nil, UInt8(ascii: ","): return link
                case UInt8(ascii: ";"): rest.removeFirst()
                default: return nil
                }
                skipSpace()
                guard let (name, value) = parameter() else { return nil }
                if name == "rel", !hasRelation {
                    hasRelation = true
                    link.relations = value.lowercased().split { $0 == " " || $0 == "\t" }.map(String.init)
                } else if name == "anchor", !value.isEmpty {
                    link.hasAnchor = true
                } else if name == "results" {
                    link.isEmpty = value.lowercased() == "false"
                }
            }
        }

        /// - Returns: the name in lower case, empty for a parameter without text; nil where it is malformed.
        private mutating func parameter() -> (name: String, value: String)? {
            let name = token()
            skipSpace()
            guard rest.first == UInt8(ascii: "=") else { return (name, "") }
            guard !name.isEmpty else { return nil }
            rest.removeFirst()
            skipSpace()
            guard rest.first == UInt8(ascii: "\"") else { return (name.lowercased(), token()) }
            return quoted().map { (name.lowercased(), $0) }
        }

        private mutating func token() -> String {
            let token = rest.prefix { !Self.isSpace($0) && !";,=\"<".utf8.contains($0) }
            rest = rest[token.endIndex...]
            return String(decoding: token, as: UTF8.self)
        }

        private mutating func quoted() -> String? {
            rest.removeFirst()
            var text: [UInt8] = []
            while let byte = rest.popFirst() {
                switch byte {
                case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
                case UInt8(ascii: "\\"):
                    guard let escaped = rest.popFirst() else { return nil }
                    text.append(escaped)
                default: text.append(byte)
                }
            }
            return nil
        }

        /// Goes on to the next comma outside quotes, or to the end.
        private mutating func skipPart() {
            var isQuoted = false
            while let byte = rest.first {
                if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
                if byte == UInt8(ascii: ","), !isQuoted { return }
                rest.removeFirst()
                if byte == UInt8(ascii: "\\"), isQuoted { _ = rest.popFirst() }
            }
        }

        private mutating func skipSpace() { rest = rest.drop(while: Self.isSpace) }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    }
}
