internal import HTTPTypes

/// The names under which the door may be addressed. Any other name is refused, because a foreign page can point a name
/// of its own at this machine (DNS rebinding).
package struct HostCheck: Sendable {
    private let allowed: Set<String>

    /// - Parameter names: host names and addresses, in addition to those of the loopback interface.
    package init(names: [String]) {
        allowed = Set(["localhost", "127.0.0.1", "[::1]"] + names.map(Self.normalized))
    }

    /// - Parameters:
    ///   - host: the field Host: a name or an address, with or without a port.
    ///   - localAddress: the address that the connection came in on; nil on a unix socket. A foreign page cannot make a
    ///     browser send it as the name of its own host.
    /// - Throws: ``Problem`` 400 `bad-host` for a text of another form, 421 `unknown-host` for any other name.
    package func check(_ host: String, localAddress: String?) throws(Problem) {
        guard let name = HostName(host)?.name else {
            throw Problem(
                .badRequest, "bad-host", "The field Host is not a host with an optional port; send those of the URL.")
        }
        if allowed.contains(name) { return }
        if let localAddress, Self.normalized(localAddress) == name { return }
        throw Problem(
            .misdirectedRequest, "unknown-host",
            "This server is not known under the host name of the request; add the name to “door.hosts” in sluice.yaml.")
    }

    private static func normalized(_ name: String) -> String {
        let name = name.lowercased()
        return name.utf8.contains(UInt8(ascii: ":")) && name.utf8.first != UInt8(ascii: "[") ? "[\(name)]" : name
    }
}
