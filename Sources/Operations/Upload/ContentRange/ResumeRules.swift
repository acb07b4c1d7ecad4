package import Commands
package import Settings

/// How an upload by PUT can be resumed, by destination. Nothing can be found out by asking: a server that does not know
/// `Content-Range` takes the rest of a file for all of it (RFC 9110, section 14.5), so somebody must say that it does.
package struct ResumeRules: Sendable, Equatable {
    private var contentRange: Set<Destination> = []

    package init() {}

    package init(contentRange: Set<Destination>) { self.contentRange = contentRange }

    func takesContentRange(_ destination: Destination) -> Bool { contentRange.contains(destination) }

    /// Reads the list `destinations` and, for each name in it, the section `destination.<name>`:
    ///
    /// | key | default | meaning |
    /// |---|---|---|
    /// | `origin` | – | scheme, host and port, as in `https://media.example.com`; must match exactly |
    /// | `resume` | none | `contentRange`: uploads of 1 MiB and more are resumed there by PUT with `Content-Range` |
    ///
    /// Other keys of the section belong to other readers.
    /// - Throws: ``SettingsError`` naming the key.
    package init(reading reader: inout SettingsReader) throws(SettingsError) {
        for name in try reader.list(["destinations"]) {
            let path = ["destination", name]
            let resumes = try reader.value(path + ["resume"], takes: "contentRange, or is left out") {
                $0 == "contentRange" ? true : nil
            }
            guard resumes != nil else { continue }
            guard let origin = try reader.origin(path) else {
                throw SettingsError(key: "destination.\(name).origin", problem: "is missing")
            }
            contentRange.insert(origin)
        }
    }
}
