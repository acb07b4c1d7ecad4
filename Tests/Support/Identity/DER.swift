/// The values of the Distinguished Encoding Rules (X.690) that a certificate needs.
enum DER {
    static let `true`: [UInt8] = [0x01, 0x01, 0xFF]

    static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8]
        if content.count < 0x80 {
            length = [UInt8(content.count)]
        } else {
            let bytes = withUnsafeBytes(of: UInt32(content.count).bigEndian) { Array($0.drop { $0 == 0 }) }
            length = [0x80 | UInt8(bytes.count)] + bytes
        }
        return [tag] + length + content
    }

    static func sequence(_ parts: [[UInt8]]) -> [UInt8] { tagged(0x30, parts.flatMap { $0 }) }
    static func set(_ part: [UInt8]) -> [UInt8] { tagged(0x31, part) }
    /// - Parameter bytes: the big-endian number; the first byte is below 0x80.
    static func integer(_ bytes: [UInt8]) -> [UInt8] { tagged(0x02, bytes) }
    static func octetString(_ bytes: [UInt8]) -> [UInt8] { tagged(0x04, bytes) }
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { tagged(0x03, [0] + bytes) }
    static func explicit(_ number: UInt8, _ part: [UInt8]) -> [UInt8] { tagged(0xA0 | number, part) }

    /// An object identifier of at least two arcs.
    static func identifier(_ arcs: [Int]) -> [UInt8] {
        var bytes = [UInt8(arcs[0] * 40 + arcs[1])]
        for arc in arcs.dropFirst(2) {
            var groups = [UInt8(arc & 0x7F)]
            var rest = arc >> 7
            while rest > 0 {
                groups.insert(0x80 | UInt8(rest & 0x7F), at: 0)
                rest >>= 7
            }
            bytes += groups
        }
        return tagged(0x06, bytes)
    }
}
