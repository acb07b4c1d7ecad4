/// The file, URL or program that a command is about, as its payload names it. Pure.
package struct CommandSubject: Sendable, Equatable {
    /// Members of the built-in payloads that name a file, a URL or a program; the first that is there is the title.
    private static let members = ["file", "url", "program", "from", "to", "key", "collection", "presigned"]

    /// The name that a table shows: the path of the file that is sent or written, or the URL that is read. Of a file that
    /// the door has spooled, whose name is a UUID, the target.
    package let title: String
    /// Every path, URL and name of the payload.
    package let names: [String]

    /// - Returns: nil for a payload that names nothing.
    package init?(payload: [UInt8]) {
        guard let value = try? JSONValue(parsing: payload) else { return nil }
        let names = Self.members.compactMap { value[$0]?.string }
        guard var title = names.first else { return nil }
        if let file = value["file"]?.string, file.utf8.count > 36, CommandID(String(file.suffix(36))) != nil,
            let target = (value["to"] ?? value["key"])?.string
        {
            title = target
        }
        self.title = title
        self.names = names
    }

    /// Whether one of the names contains `text`, byte for byte.
    package func contains(_ text: String) -> Bool { names.contains { $0.utf8.contains(text.utf8) } }

    /// The last part of the title, which is the name of a file; the whole title where that part is empty.
    package var name: String {
        let path = title.prefix { $0 != "?" && $0 != "#" }
        let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
        guard let last, let name = String(last), !name.isEmpty else { return title }
        return name
    }
}
