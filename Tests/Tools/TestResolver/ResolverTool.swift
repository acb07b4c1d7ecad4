import Glibc

/// A name server (RFC 1035, UDP) that answers for the names it is given and ignores every other query, as a server whose
/// packets are lost does.
///
/// ```
/// TestResolver ADDRESS PORT NAME=ADDRESS…
/// ```
///
/// A query of type A for a NAME is answered with its ADDRESS, of another type with no record. The program writes
/// `ready` once it listens, and runs until it is killed.
@main
enum ResolverTool {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count > 3, let port = UInt16(arguments[2]), let address = address(arguments[1]) else {
            fail("usage: TestResolver ADDRESS PORT NAME=ADDRESS…")
        }
        var zone: [String: UInt32] = [:]
        for argument in arguments.dropFirst(3) {
            let parts = argument.split(separator: "=")
            guard parts.count == 2, let address = self.address(String(parts[1])) else {
                fail("“\(argument)” is not NAME=ADDRESS")
            }
            zone[parts[0].lowercased()] = address
        }
        let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var own = sockaddr_in()
        own.sin_family = sa_family_t(AF_INET)
        own.sin_port = port.bigEndian
        own.sin_addr.s_addr = address.bigEndian
        let bound = withUnsafePointer(to: own) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0 else { fail("cannot bind \(arguments[1]):\(port): \(String(cString: strerror(errno)))") }
        print("ready")
        fflush(nil)
        serve(descriptor, zone)
    }

    private static func serve(_ descriptor: CInt, _ zone: [String: UInt32]) -> Never {
        var packet = [UInt8](repeating: 0, count: 512)
        while true {
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            withUnsafeMutablePointer(to: &peer) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { peer in
                    let count = recvfrom(descriptor, &packet, packet.count, 0, peer, &length)
                    guard count > 0, let answer = DNSQuery(packet[..<count])?.answer(from: zone) else { return }
                    _ = sendto(descriptor, answer, answer.count, 0, peer, length)
                }
            }
        }
    }

    /// In host order.
    private static func address(_ text: String) -> UInt32? {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1 ? UInt32(bigEndian: address.s_addr) : nil
    }

    private static func fail(_ sentence: String) -> Never {
        let line = Array("TestResolver: \(sentence)\n".utf8)
        _ = write(2, line, line.count)
        exit(1)
    }
}

/// A standard query with one question.
struct DNSQuery {
    private let header: [UInt8]
    private let question: [UInt8]
    private let name: String
    private let type: UInt8

    /// - Returns: nil where the bytes are not such a query.
    init?(_ packet: ArraySlice<UInt8>) {
        let bytes = Array(packet)
        // QR and OPCODE are zero, QDCOUNT is one.
        guard bytes.count > 16, bytes[2] & 0xF8 == 0, bytes[4] == 0, bytes[5] == 1 else { return nil }
        var labels: [String] = []
        var next = 12
        while next < bytes.count, bytes[next] > 0 {
            let end = next + 1 + Int(bytes[next])
            guard bytes[next] < 64, end < bytes.count else { return nil }
            labels.append(String(decoding: bytes[next + 1..<end], as: UTF8.self).lowercased())
            next = end
        }
        guard next + 5 <= bytes.count else { return nil }
        header = Array(bytes[..<12])
        question = Array(bytes[12..<next + 5])
        name = labels.joined(separator: ".")
        type = bytes[next + 2]
    }

    /// - Returns: nil for a name that the zone does not have.
    func answer(from zone: [String: UInt32]) -> [UInt8]? {
        guard let address = zone[name] else { return nil }
        let isAddress = type == 1
        // A response (QR), authoritative (AA), recursion available (RA), RD as asked.
        var answer = [header[0], header[1], 0x84 | header[2] & 1, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0]
        answer += question
        guard isAddress else { return answer }
        // The name by its offset, type A, class IN, 60 s, four bytes.
        answer += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]
        answer += stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: address >> UInt32($0)) }
        return answer
    }
}
