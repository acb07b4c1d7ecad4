internal import Commands

/// Where a PostgreSQL server is, and how to log in: a URL `postgres://user@host1,host2:5433/database?sslmode=verify-full`
/// (manual of PostgreSQL 14, “Connection URIs”).
///
/// Its texts never show the password. A parameter that is left out has the default of libpq, which also reads the
/// environment (`PGUSER`, `PGPASSFILE`, …) and `~/.pgpass`.
struct PostgreSQLLocation: Hashable, Sendable {
    /// One server of a URL.
    struct Host: Hashable, Sendable {
        /// A name, an address without brackets, or a directory with a Unix socket, which begins with a slash.
        var name: String
        /// 1…65535; nil for the default of libpq, 5432.
        var port: Int?

        /// Whether the name is a directory with a Unix socket, or an abstract socket (`@…`).
        var isSocket: Bool { name.utf8.first == .slash || name.utf8.first == UInt8(ascii: "@") }
    }

    /// A parameter of libpq, such as `sslmode`.
    struct Parameter: Hashable, Sendable {
        var name: String
        var value: String
    }

    /// The servers, in the order in which they are tried. Empty: libpq finds one or several, by `service`, `PGHOST` or its
    /// default, and they share the time of one.
    var hosts: [Host]
    var user: String?
    var password: String?
    var database: String?
    /// All others, in the order of the URL, each name once.
    var parameters: [Parameter]

    /// The parameters that are passwords.
    static let secretParameters: Set<String> = ["password", "sslpassword"]

    subscript(parameter: String) -> String? { parameters.first { $0.name == parameter }?.value }

    /// The texts that no message may contain.
    var secrets: [String] {
        ([password] + parameters.map { Self.secretParameters.contains($0.name) ? $0.value : nil }).compactMap { $0 }
    }

    /// How long one server may take to accept a connection. Default: 2 s.
    /// - Returns: the whole seconds of `connect_timeout`, at least 2 as in libpq; nil, without a limit, for 0 or less.
    var hostTimeout: Duration? {
        guard let seconds = self["connect_timeout"].flatMap({ Int32($0) }) else { return .seconds(2) }
        return seconds > 0 ? .seconds(max(seconds, 2)) : nil
    }
}

extension PostgreSQLLocation: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The URL without passwords.
    var description: String {
        var text = "postgres://"
        if let user { text += Self.encode(user) + "@" }
        text += hosts.map(Self.text).joined(separator: ",")
        if let database { text += "/" + Self.encode(database) }
        let shown = parameters.filter { !Self.secretParameters.contains($0.name) }
        let pairs = shown.map { "\(Self.encode($0.name))=\(Self.encode($0.value, keepsSlash: true))" }
        return pairs.isEmpty ? text : text + "?" + pairs.joined(separator: "&")
    }

    var debugDescription: String { description }
    /// No children, so that `dump` and the texts of other types show no password.
    var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }

    private static func text(_ host: Host) -> String {
        let isAddress =
            host.name.utf8.contains(UInt8(ascii: ":")) && host.name.utf8.allSatisfy { $0.isAddressCharacter }
        let name = isAddress ? "[\(host.name)]" : encode(host.name)
        return host.port.map { "\(name):\($0)" } ?? name
    }

    /// Percent-encodes each byte that is not unreserved (RFC 3986, section 2.3).
    private static func encode(_ text: String, keepsSlash: Bool = false) -> String {
        let path = text.percentEncodedPath
        return keepsSlash ? path : path.split(separator: "/", omittingEmptySubsequences: false).joined(separator: "%2f")
    }
}
