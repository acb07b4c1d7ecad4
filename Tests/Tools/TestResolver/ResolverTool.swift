import Glibc

/// A name server (RFC 1035, UDP) that answers for given names and ignores every other query, as if packets
/// were lost.
///
/// ```
/// TestResolver ADDRESS PORT NAME=ADDRESS…
/// ```
///
/// The answer to a query of type A for a NAME is its ADDRESS; other types have no record. The program prints
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

    /// Parses an IPv4 address to host byte order.
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
