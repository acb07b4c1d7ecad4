/// The file, URL or program that a command is about, as its payload names it. Pure.
package struct CommandSubject: Sendable, Equatable {
    /// Members of the built-in payloads that name a file, a URL, a program or a flow; the first that is there is the title.
    private static let members = ["file", "url", "program", "from", "to", "key", "collection", "presigned", "name"]

    /// The name that a table shows: the path of the file that is sent or written, or the URL that is read. Of a file that
    /// the door has spooled, whose name is a UUID, the target.
    package let title: String
    /// Every path, URL and name of the payload.
    package let names: [String]
    /// The path of the file that is sent or written here; nil where there is none.
    package let file: String?
    /// The URL that is written to or read; nil where the payload has none.
    package let url: String?
    /// `PUT /busy/2`, of a payload whose subject is a URL that is called; nil for any other.
    private let call: String?

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
        let ends = ["to", "from"].compactMap { value[$0]?.string }
        file = value["file"]?.string ?? ends.first { !$0.contains("://") }
        url = value["url"]?.string ?? ends.first { $0.contains("://") }
        call = title == value["url"]?.string ? Self.call(title, method: value["method"]?.string) : nil
    }

    /// Whether the title is a URL, whose query may have a secret.
    package var isURL: Bool { title.contains("://") }

    private static func call(_ url: String, method: String?) -> String? {
        // The scheme, an empty part, the authority, and the path.
        let parts = url.prefix { $0 != "?" && $0 != "#" }.split(
            separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2, parts[0].last == ":", parts[1].isEmpty else { return nil }
        let path = "/" + (parts.count > 3 ? parts[3] : "")
        return path == "/" && method == nil ? nil : (method.map { "\($0) " } ?? "") + path
    }

    /// Whether one of the names contains `text`, byte for byte.
    package func contains(_ text: String) -> Bool { names.contains { $0.utf8.contains(text.utf8) } }

    /// The name that a page shows beside the destination: of a file its name, of a URL that is read or called its method and path,
    /// because the last part of a path may be a number. Of another URL the last part of its path, and the whole title where
    /// that part is empty.
    package var name: String {
        if let call { return call }
        let path = title.prefix { $0 != "?" && $0 != "#" }
        let last = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last
        guard let last, let name = String(last), !name.isEmpty else { return title }
        return name
    }
}

/// The URL that a command's payload names, as a number: commands with the same one ask for the same thing. The
/// coordinator and the workers compute it alike, so that no message has a URL.
package struct CommandTarget: Hashable, Sendable {
    /// 64-bit FNV-1a.
    package var hash: UInt64

    /// Members that name a URL or an object, of every operation that talks to a destination.
    private static let members = ["to", "url", "endpoint", "bucket", "key", "presigned"]

    package init(hash: UInt64) { self.hash = hash }

    /// - Returns: nil where the payload names none of them.
    package init?(payload: some Collection<UInt8>) {
        guard let value = try? JSONValue(parsing: payload) else { return nil }
        var parts = Self.members.compactMap { value[$0]?.string }
        guard let last = parts.last else { return nil }
        // A directory takes the name of the file.
        if last.hasSuffix("/"), let file = value["file"]?.string { parts.append(file) }
        var hash: UInt64 = 14_695_981_039_346_656_037
        for part in parts {
            for byte in part.utf8 { hash = (hash ^ UInt64(byte)) &* 1_099_511_628_211 }
            hash = (hash ^ 0xFF) &* 1_099_511_628_211
        }
        self.hash = hash
    }
}
