/// The address that a proxy connects to.
package struct ScriptAddress: Sendable, Equatable {
    var host: String
    var port: Int

    /// - Parameter text: `host:port`.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), colon > text.startIndex,
            let port = Int(text[text.index(after: colon)...]), (1...65_535).contains(port)
        else { return nil }
        host = String(text[..<colon])
        self.port = port
    }
}
