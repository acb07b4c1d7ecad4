internal import Commands

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The part of a client's address by which failures are counted.
enum ClientNetwork {
    /// An IPv4 address, or the first 64 bits of an IPv6 address: a host has all addresses of such a network (RFC 7084).
    /// Other texts, such as the name of a Unix socket, are taken as they are, cut to 64 bytes.
    static func key(_ address: String) -> String {
        var bytes = in6_addr()
        guard inet_pton(AF_INET6, String(address.prefix { $0 != "%" }), &bytes) == 1 else {
            return String(decoding: address.utf8.prefix(64), as: UTF8.self)
        }
        return withUnsafeBytes(of: &bytes) { bytes in
            // IPv4-mapped: ::ffff:192.0.2.1
            if bytes.prefix(10).allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
                return bytes[12...].map { "\($0)" }.joined(separator: ".")
            }
            return Hexadecimal.text(bytes.prefix(8)) + "::/64"
        }
    }
}
