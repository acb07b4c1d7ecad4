package import Commands
package import Configuration

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
    /// - Throws: ``ConfigurationError`` naming the key.
    package init(reading configuration: ConfigReader) throws(ConfigurationError) {
        for name in configuration.stringArray(forKey: "destinations", default: []) {
            let section = configuration.scoped(to: ConfigKey(["destination", name]))
            guard let resume = section.string(forKey: "resume") else { continue }
            guard resume == "contentRange" else {
                throw ConfigurationError(
                    key: "destination.\(name).resume", "must be contentRange or left out, not “\(resume)”")
            }
            let text = section.string(forKey: "origin", default: "")
            guard let origin = Destination(origin: text) else {
                throw ConfigurationError(
                    key: "destination.\(name).origin",
                    "must be an origin such as https://media.example.com, not “\(text)”")
            }
            contentRange.insert(origin)
        }
    }
}
