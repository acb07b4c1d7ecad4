import TestSupport

/// A random answer to one request: valid HTTP/1.1, or damaged in one or two ways, in random pieces.
struct RandomAnswer {
    /// The steps of the server.
    private(set) var steps: [ScriptStep] = []
    /// All bytes that it sends for this request.
    private(set) var bytes: [UInt8]
    /// Bytes of the request's body.
    let bodySize: Int
    /// The whole body is read before the first byte of the answer. With an earlier 2xx the server confirms
    /// bytes that it has not seen, which no client can check.
    private(set) var readsFirst = false
    /// The kinds of damage, for messages.
    private(set) var faults: [String] = []

    init(using random: inout SeededRandom) {
        bodySize =
            random.chance(0.2) ? 0 : random.chance(0.1) ? random.number(in: 1..<400_000) : random.number(in: 1..<2000)
        bytes = Self.response(&random)
        for _ in 0..<[0, 0, 1, 1, 2][random.number(in: 0..<5)] { damage(&random) }
        // The answer starts before, in the middle of, or after the body.
        let start = random.number(in: 0..<10)
        if start < 7 {
            readsFirst = true
            steps.append(.read())
        } else if start < 9 {
            steps.append(.read(upTo: random.number(in: 0..<bodySize + 1)))
        }
        if random.chance(0.1) { steps.append(.wait(.microseconds(random.number(in: 0..<500)))) }
        split(&random)
        end(&random)
    }

    /// The start of the answer, in one line.
    var text: String {
        String(bytes.prefix(160).map { (0x20..<0x7F).contains($0) ? Character(Unicode.Scalar($0)) : "·" })
    }

    var behaviour: Behaviour { Behaviour("\(faults)", steps) }

    // MARK: Valid answers

    private static func response(_ random: inout SeededRandom) -> [UInt8] {
        var text = ""
        for _ in 0..<(random.chance(0.2) ? random.number(in: 1..<4) : 0) {
            let status = [100, 102, 103, 104][random.number(in: 0..<4)]
            text += "HTTP/1.1 \(status) Interim\r\nLink: </\(random.number(in: 0..<100))>\r\n\r\n"
        }
        let statuses = [200, 201, 201, 202, 204, 206, 302, 304, 400, 404, 409, 413, 429, 500, 503]
        let status = statuses[random.number(in: 0..<statuses.count)]
        text += "HTTP/1.1 \(status) \(random.chance(0.5) ? "Reason" : "")\r\n"
        for number in 0..<random.number(in: 0..<5) { text += "X-\(number): \(random.number(in: 0..<1_000_000))\r\n" }
        let body = String(
            repeating: "b", count: random.chance(0.1) ? random.number(in: 0..<200_000) : random.number(in: 0..<300))
        switch random.number(in: 0..<4) {
        case 0, 1: text += "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        case 2:
            text += "Transfer-Encoding: chunked\r\n\r\n"
            var rest = body[...]
            while !rest.isEmpty {
                let chunk = rest.prefix(random.number(in: 1..<20_000))
                text += "\(String(chunk.utf8.count, radix: 16))\(random.chance(0.1) ? ";a=b" : "")\r\n\(chunk)\r\n"
                rest = rest.dropFirst(chunk.count)
            }
            text += "0\r\n\(random.chance(0.2) ? "Trailer: 1\r\n" : "")\r\n"
        default: text += "Connection: close\r\n\r\n\(body)"
        }
        return Array(text.utf8)
    }

    // MARK: Damage

    private mutating func damage(_ random: inout SeededRandom) {
        let index = random.number(in: 0..<bytes.count + 1)
        let kind = random.number(in: 0..<12)
        switch kind {
        case 0: bytes = Array(bytes.prefix(index))
        case 1: bytes.insert(contentsOf: random.bytes(random.number(in: 1..<40)), at: index)
        case 2:
            for _ in 0..<random.number(in: 1..<5) where !bytes.isEmpty {
                bytes[random.number(in: 0..<bytes.count)] = UInt8(random.number(in: 0..<256))
            }
        case 3: bytes.removeSubrange(index..<min(bytes.count, index + random.number(in: 0..<30)))
        case 4:
            let lengths = [
                "-1", "99999999999999999999", "0x10", "5, 5", "5, 6", " ", "1e3", "+4", "18446744073709551615",
            ]
            addField("Content-Length: \(lengths[random.number(in: 0..<lengths.count)])")
        case 5:
            addField(
                "Transfer-Encoding: \(["chunked", "gzip, chunked", "identity", "chunked, chunked", "x"][random.number(in: 0..<5)])"
            )
        case 6:
            addField((0..<random.number(in: 200..<2000)).map { "Y-\($0): 1" }.joined(separator: "\r\n"))
        case 7: addField("Z: \(String(repeating: "z", count: random.number(in: 1000..<100_000)))")
        case 8:
            // A second response without a request.
            bytes += random.chance(0.5) ? Self.response(&random) : random.bytes(random.number(in: 1..<100))
        case 9: bytes = bytes.filter { $0 != 0x0D }
        case 10:
            let lines = [
                "HTTP/2.0 200 OK", "HTTP/1.1 2001 OK", "HTTP/1.1 20 OK", "http/1.1 200 OK", "ICY 200 OK",
                "HTTP/1.1 200", "HTTP/1.1  200 OK", "HTTP/1.1 101 Switching",
            ]
            let end = bytes.firstIndex(of: 0x0D) ?? 0
            bytes.replaceSubrange(0..<end, with: lines[random.number(in: 0..<lines.count)].utf8)
        default:
            let odd = [
                "Folded: a\r\n  b", "No colon", ": no name", "Na me: a", "Nul: \u{0}", "Connection: close, keep-alive",
            ]
            addField(odd[random.number(in: 0..<odd.count)])
        }
        faults.append("\(kind)")
    }

    /// Inserts a header field after the first line.
    private mutating func addField(_ field: String) {
        guard let end = bytes.firstIndex(of: 0x0A) else { return }
        bytes.insert(contentsOf: Array("\(field)\r\n".utf8), at: end + 1)
    }

    // MARK: Pieces and the end

    private mutating func split(_ random: inout SeededRandom) {
        let cuts = (0..<random.number(in: 0..<5)).map { _ in random.number(in: 0..<bytes.count + 1) }.sorted()
        var start = 0
        for cut in cuts + [bytes.count] where cut > start {
            steps.append(.send(Array(bytes[start..<cut])))
            if cut < bytes.count { steps.append(.wait(.microseconds(random.number(in: 0..<300)))) }
            start = cut
        }
    }

    private mutating func end(_ random: inout SeededRandom) {
        let kind = random.number(in: 0..<20)
        // Unread bytes of a request would damage the next exchange, which no client can detect.
        steps.append(.read())
        switch kind {
        case 0..<8: break
        case 8..<14: steps.append(.close)
        case 14: steps.append(.reset)
        case 15: steps += [.halfClose, .wait(.milliseconds(1)), .close]
        case 16, 17: steps.append(.idle(.zero))
        default: steps.append(.hang)
        }
    }

    // MARK: Plausible successes

    /// Whether a client may report success: the bytes begin with a complete final head of 2xx after complete
    /// interim heads, read leniently. For a head of more than 64 KiB the status line decides.
    var mayBeSuccess: Bool {
        var rest = bytes[...]
        while true {
            rest = rest.drop { $0 == 0x0D || $0 == 0x0A }
            guard let end = Self.endOfHead(rest) ?? (rest.count > 64 << 10 ? rest.endIndex : nil) else { return false }
            let line = String(decoding: rest.prefix { $0 != 0x0A }, as: UTF8.self)
            let digits = line.drop { $0 != " " }.drop { $0 == " " }.prefix(3)
            guard let status = Int(digits) else { return false }
            guard (100..<200).contains(status) else { return (200..<300).contains(status) }
            rest = rest[end...]
        }
    }

    private static func endOfHead(_ bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while let feed = bytes[index...].firstIndex(of: 0x0A) {
            let next = bytes[(feed + 1)...]
            if next.first == 0x0A { return feed + 2 }
            if next.first == 0x0D, next.dropFirst().first == 0x0A { return feed + 3 }
            index = feed + 1
        }
        return nil
    }
}
