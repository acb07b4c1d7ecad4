/// A standard query with one question.
struct DNSQuery {
    private let header: [UInt8]
    private let question: [UInt8]
    private let name: String
    private let type: UInt8

    /// - Returns: nil if the bytes are not such a query.
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
        // A pointer to the name, type A, class IN, 60 s, four bytes.
        answer += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]
        answer += stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: address >> UInt32($0)) }
        return answer
    }
}
