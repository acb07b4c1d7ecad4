package import Commands

extension Destination {
    /// Its packets never leave this host.
    package var isLoopback: Bool {
        guard let host = text.firstRange(of: "://").map({ text[$0.upperBound...] }) else { return false }
        let name = host.prefix { $0 != ":" }
        return name == "localhost" || host.hasPrefix("[::1]:")
            || name.hasPrefix("127.") && name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (48...57).contains($0) }
    }
}
