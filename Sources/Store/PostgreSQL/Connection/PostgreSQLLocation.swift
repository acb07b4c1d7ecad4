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

extension PostgreSQLLocation {
    private static let prefixes = ["postgres://", "postgresql://"]

    /// Whether a text is meant as the URL of a PostgreSQL server.
    static func isURL(_ text: String) -> Bool { prefixes.contains { text.beginsWithBytes(of: $0) } }

    /// Reads a URL as libpq does. Parameters that libpq does not know are found when a connection is opened.
    /// - Throws: `.invalid` with a sentence that shows nothing of the URL but names of parameters: a password that is not
    ///   encoded can be anywhere in a malformed URL.
    init(_ url: String) throws(StoreError) {
        guard let prefix = Self.prefixes.first(where: { url.beginsWithBytes(of: $0) }) else {
            throw Self.invalid("it does not begin with “postgres://”")
        }
        guard !url.utf8.contains(0) else { throw Self.invalid("it has a NUL byte") }
        var rest = Substring(url.utf8.dropFirst(prefix.utf8.count))

        // As libpq: an “@” before the first slash ends the user and the password, which may have a “?”.
        var credentials: Substring?
        let isEnd: (UInt8) -> Bool = { $0 == UInt8(ascii: "@") || $0 == .slash }
        if let end = rest.utf8.firstIndex(where: isEnd), rest.utf8[end] != .slash {
            credentials = rest[..<end]
            rest = rest[rest.utf8.index(after: end)...]
        }
        (hosts, user, password, database, parameters) = ([], nil, nil, nil, [])
        if let credentials {
            let (name, secret) = credentials.divided(at: UInt8(ascii: ":"))
            user = try Self.decode(name, "user").nonEmpty
            password = try secret.map { part throws(StoreError) in try Self.decode(part, "password") }?.nonEmpty
        }
        let (front, query) = rest.divided(at: UInt8(ascii: "?"))
        let (authority, path) = front.divided(at: .slash)
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw Self.invalid("it has more than one “@”; write %40 for one in the user or the password")
        }
        if !authority.isEmpty { hosts = try Self.hosts(authority) }
        database = try Self.decode(path ?? "", "database").nonEmpty
        try read(parameters: query ?? "")
    }

    // MARK: Hosts

    private static func hosts(_ authority: Substring) throws(StoreError) -> [Host] {
        var hosts: [Host] = []
        for part in authority.split(byte: UInt8(ascii: ",")) {
            let (name, port) = try nameAndPort(part, number: hosts.count + 1)
            let number = try port.flatMap { text throws(StoreError) in try Self.port(text) }
            hosts.append(Host(name: name, port: number))
        }
        return hosts
    }

    private static func nameAndPort(_ part: Substring, number: Int) throws(StoreError) -> (String, Substring?) {
        guard part.utf8.first == UInt8(ascii: "[") else {
            let (name, port) = part.divided(at: UInt8(ascii: ":"))
            let host = try decode(name, "host")
            guard !host.isEmpty else { throw invalid("host \(number) has no name") }
            // libpq would take it for two hosts.
            guard !host.utf8.contains(UInt8(ascii: ",")) else { throw invalid("host \(number) has a comma") }
            return (host, port)
        }
        guard let end = part.utf8.firstIndex(of: UInt8(ascii: "]")) else {
            throw invalid("host \(number) lacks its “]”")
        }
        let address = String(part[part.utf8.index(after: part.startIndex)..<end])
        guard !address.isEmpty, address.utf8.allSatisfy({ $0.isAddressCharacter }) else {
            throw invalid("host \(number) has no IPv6 address in its brackets")
        }
        let after = part[part.utf8.index(after: end)...]
        guard after.isEmpty || after.utf8.first == UInt8(ascii: ":") else {
            throw invalid("host \(number) has more than a port behind its “]”")
        }
        return (address, after.isEmpty ? nil : Substring(after.utf8.dropFirst()))
    }

    /// - Returns: nil for an empty text.
    private static func port(_ text: Substring) throws(StoreError) -> Int? {
        if text.isEmpty { return nil }
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = Int(text),
            (1...65_535).contains(port)
        else { throw invalid("a port is not a number from 1 to 65535; write %3A for a colon, and %2F for a slash") }
        return port
    }

    // MARK: Parameters

    private mutating func read(parameters query: Substring) throws(StoreError) {
        var names: Set<String> = []
        var ports: [Int?] = []
        for pair in query.split(byte: UInt8(ascii: "&")) where !pair.isEmpty {
            let (key, text) = pair.divided(at: UInt8(ascii: "="))
            guard let text, !key.isEmpty else { throw Self.invalid("a parameter is not written as “name=value”") }
            let name = try Self.decode(key, "parameter")
            let value = try Self.decode(text, "parameter")
            guard names.insert(name).inserted else {
                throw Self.invalid("it has the parameter “\(name.excerpt)” twice")
            }
            switch name {
            case "host":
                guard hosts.isEmpty else { throw Self.invalid("it names hosts before its “?” and in “host”") }
                hosts = value.split(byte: UInt8(ascii: ",")).map { Host(name: String($0)) }
                guard hosts.allSatisfy({ !$0.name.isEmpty }) else { throw Self.invalid("a host of “host” has no name") }
            case "port":
                for part in Substring(value).split(byte: UInt8(ascii: ",")) { ports.append(try Self.port(part)) }
            case "user": user = value.nonEmpty
            case "password": password = value.nonEmpty
            case "dbname": database = value.nonEmpty
            case "ssl" where value == "true": parameters.append(Parameter(name: "sslmode", value: "require"))
            default: parameters.append(try Self.checked(name, value))
            }
        }
        try give(ports)
        if let addresses = self["hostaddr"]?.split(byte: UInt8(ascii: ",")).count, !hosts.isEmpty {
            guard addresses == hosts.count else { throw Self.invalid("“hostaddr” and the hosts differ in number") }
        }
    }

    /// One port is for all hosts.
    private mutating func give(_ ports: [Int?]) throws(StoreError) {
        guard !ports.isEmpty else { return }
        if hosts.isEmpty, ports.count == 1, let port = ports[0] {
            // Of a host that libpq finds by itself.
            return parameters.append(Parameter(name: "port", value: "\(port)"))
        }
        guard ports.count == 1 || ports.count == hosts.count else {
            throw Self.invalid("“port” and the hosts differ in number")
        }
        for index in hosts.indices {
            guard hosts[index].port == nil else { throw Self.invalid("it names ports before its “?” and in “port”") }
            hosts[index].port = ports[ports.count == 1 ? 0 : index]
        }
    }

    private static let sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

    /// - Throws: for a parameter that this program sets itself, or that makes the store unusable.
    private static func checked(_ name: String, _ value: String) throws(StoreError) -> Parameter {
        switch name {
        case "client_encoding", "replication", "load_balance_hosts", "fallback_application_name":
            throw invalid("the parameter “\(name)” cannot be set; leave it out")
        case "target_session_attrs" where !["read-write", "primary", "any"].contains(value):
            throw invalid("a store writes, so that “target_session_attrs” is read-write, primary or any")
        case "sslmode" where !sslModes.contains(value):
            throw invalid("“sslmode” is not one of \(sslModes.joined(separator: ", "))")
        case "connect_timeout" where Int32(value) == nil:
            throw invalid("“connect_timeout” is not a whole number of seconds")
        default: return Parameter(name: name, value: value)
        }
    }

    // MARK: Texts

    private static func decode(_ text: Substring, _ part: String) throws(StoreError) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst()?.hexadecimalDigit, let low = rest.popFirst()?.hexadecimalDigit,
                high | low != 0
            else { throw invalid("the \(part) has a “%” without two hexadecimal digits, or %00; write %25 for “%”") }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else { throw invalid("the \(part) is not UTF-8") }
        return decoded
    }

    private static func invalid(_ reason: String) -> StoreError {
        StoreError(
            .invalid,
            "The URL of the PostgreSQL store is malformed: \(reason). The form is "
                + "postgres://user@host1:5432,host2/database?parameter=value.")
    }
}

extension StringProtocol {
    /// The text before the first `byte`, and that behind it; nil where it has none.
    fileprivate func divided(at byte: UInt8) -> (Substring, Substring?) {
        guard let index = utf8.firstIndex(of: byte) else { return (Substring(self), nil) }
        return (Substring(self[..<index]), Substring(self[utf8.index(after: index)...]))
    }

    /// The parts between the bytes, empty ones too. At least one.
    fileprivate func split(byte: UInt8) -> [Substring] {
        utf8.split(separator: byte, omittingEmptySubsequences: false).map { Substring(decoding: $0, as: UTF8.self) }
    }

    fileprivate var nonEmpty: String? { isEmpty ? nil : String(self) }
}

extension UInt8 {
    fileprivate var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Of an IPv6 address with a zone.
    var isAddressCharacter: Bool {
        hexadecimalDigit != nil || ":.%-_".utf8.contains(self) || (UInt8(ascii: "g")...UInt8(ascii: "z")).contains(self)
    }
}
