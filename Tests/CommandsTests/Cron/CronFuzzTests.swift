import Commands
import TestSupport
import Testing

struct CronFuzzTests {
    @Test func `no text crashes the parser or the search`() {
        var cases = CronCases("cron texts", zones: [.utc] + MachineZones.all)
        var accepted = 0
        for _ in 0..<20_000 {
            let text = text(&cases)
            do {
                let expression = try CronExpression(parsing: text)
                accepted += 1
                check(expression, &cases)
            } catch {
                let length = text.utf8.count
                #expect((0...length).contains(error.position) && !error.description.isEmpty, "\(text)")
            }
        }
        print("cron texts: \(accepted) of 20,000 accepted")
        #expect(accepted > 1000)
    }

    @Test func `next times rise, and previous leads back to each of them`() throws {
        var cases = CronCases("next and previous", zones: [.utc] + MachineZones.all)
        var count = 0
        for _ in 0..<(isQuickRun ? 2000 : 10_000) {
            guard
                let expression = try? CronExpression(
                    parsing: cases.expression(fields: cases.random.chance(0.3) ? 6 : 5))
            else { continue }
            count += check(expression, &cases)
        }
        print("next and previous: \(count) times")
    }

    /// Walks forward from a random time and back.
    /// - Returns: the number of times that were checked.
    @discardableResult
    private func check(_ expression: CronExpression, _ cases: inout CronCases) -> Int {
        let zone = cases.zone()
        for extreme in [Int64.min, .min + 1, .max, .max - 1, -1] {
            let time = Timestamp(milliseconds: extreme)
            if let next = expression.next(after: time, in: zone) { #expect(next > time) }
            if let previous = expression.previous(atOrBefore: time, in: zone) { #expect(previous <= time) }
            if let previous = expression.previous(before: time, in: zone) { #expect(previous < time) }
        }
        var time = Timestamp(milliseconds: cases.instant(in: zone) * 1000 + Int64(cases.random.number(in: 0..<1000)))
        var last = expression.previous(atOrBefore: time, in: zone)
        if let last { #expect(last <= time && expression.next(after: last, in: zone).map { $0 > time } == true) }
        var count = 0
        while count < 8, let next = expression.next(after: time, in: zone) {
            let message = "“\(expression)” in \(zone.name) after \(time): \(next)"
            #expect(next > time, "\(message)")
            #expect(expression.previous(atOrBefore: next, in: zone) == next, "\(message)")
            #expect(expression.previous(before: next, in: zone) == last, "\(message)")
            #expect(expression.next(after: next + .milliseconds(-1), in: zone) == next, "\(message)")
            (time, last, count) = (next, next, count + 1)
        }
        #expect(count == 8 || time.milliseconds > 0, "“\(expression)” in \(zone.name)")
        return count
    }

    private func text(_ cases: inout CronCases) -> String {
        switch cases.random.number(in: 0..<4) {
        case 0:
            return String(decoding: cases.random.bytes(cases.random.number(in: 0..<40)), as: UTF8.self)
        case 1:
            let alphabet = Array("0123456789*/-,?#LWlw @ \teveryJANfri smhd".utf8)
            let count = cases.random.number(in: 0..<30)
            return String(
                decoding: (0..<count).map { _ in alphabet[cases.random.number(in: 0..<alphabet.count)] }, as: UTF8.self)
        default:
            // One expression with a few bytes changed, inserted or removed.
            let macros = ["@daily", "@every 1h30m", "@every 18300d", "@hourly"]
            var bytes = Array(
                (cases.random.chance(0.1)
                    ? macros[cases.random.number(in: 0..<macros.count)]
                    : cases.expression(fields: cases.random.chance(0.5) ? 5 : 6)).utf8)
            let alphabet = Array("0123456789*/-,?#LW @é".utf8)
            for _ in 0..<cases.random.number(in: 0..<4) where !bytes.isEmpty {
                let index = cases.random.number(in: 0..<bytes.count)
                let byte = alphabet[cases.random.number(in: 0..<alphabet.count)]
                switch cases.random.number(in: 0..<3) {
                case 0: bytes[index] = byte
                case 1: bytes.insert(byte, at: index)
                default: bytes.remove(at: index)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
