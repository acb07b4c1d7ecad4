import Commands
import Glibc
import TestSupport

/// A whole response of the API.
struct APIResponse: Sendable {
    let status: Int
    private let fields: [(name: String, value: String)]
    let body: [UInt8]

    init(_ bytes: [UInt8], isHead: Bool) throws {
        guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
            throw Missed("no response: \(String(decoding: bytes, as: UTF8.self))")
        }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        guard let status = Int(lines[0].split(separator: " ")[1]) else { throw Missed("no status: \(lines[0])") }
        self.status = status
        fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (parts[0].lowercased(), parts.count > 1 ? String(parts[1].dropFirst()) : "")
        }
        let rest = Array(bytes[end.upperBound...])
        let isChunked = fields.contains { $0.name == "transfer-encoding" }
        body = isHead ? [] : isChunked ? try Self.dechunked(rest) : rest
    }

    subscript(_ name: String) -> String? { fields.first { $0.name == name.lowercased() }?.value }

    var text: String { String(decoding: body, as: UTF8.self) }

    var json: JSONValue { get throws { try JSONValue(parsing: body) } }

    /// The last part of the type of a problem document; nil for another response.
    var problem: String? {
        guard self["Content-Type"] == "application/problem+json" else { return nil }
        return try? json["type"]?.string?.split(separator: "/").last.map(String.init)
    }

    private static func dechunked(_ bytes: [UInt8]) throws -> [UInt8] {
        var rest = bytes[...]
        var body: [UInt8] = []
        while let end = rest.firstRange(of: Array("\r\n".utf8)) {
            guard let size = Int(String(decoding: rest[..<end.lowerBound], as: UTF8.self), radix: 16) else { break }
            if size == 0 { return body }
            body += rest[end.upperBound...].prefix(size)
            rest = rest[end.upperBound...].dropFirst(size + 2)
        }
        throw Missed("the response was cut")
    }
}

/// Sends bytes to a port of this machine, and reads to the end of the connection. It blocks.
func exchange(_ bytes: [UInt8], port: Int) throws -> [UInt8] {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Missed("no socket: \(errno)") }
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard connected == 0 else { throw Missed("cannot connect: \(errno)") }
    var sent = 0
    while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        // The server may answer, and close, before it has read all.
        guard count > 0 else { break }
        sent += count
    }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return received }
        received += buffer[..<count]
    }
}
