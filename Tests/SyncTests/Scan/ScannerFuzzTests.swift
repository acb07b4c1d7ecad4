import Commands
import TestSupport
import Testing

@testable import Sync
@testable import Transfers

/// Random documents, cut into random chunks and damaged, with the parser of Commands as the oracle.
@Suite struct ScannerFuzzTests {
    /// A document with its list at `/…`, and the pointers to read.
    private struct Document {
        var plan = ScanPlan()
        var bytes: [UInt8]
    }

    private static let token = ["data", "a/b", "m~n", "é", "0"]

    private func document(_ random: inout SeededRandom) throws -> Document {
        var body = JSONValue.array((0..<random.number(in: 0..<6)).map { _ in record(&random) })
        var pointer = ""
        for _ in 0..<random.number(in: 0..<3) {
            if random.chance(0.2) {
                pointer = "/1" + pointer
                body = .array([RandomJSON.value(depth: 2, &random), body, RandomJSON.value(depth: 2, &random)])
            } else {
                let name = Self.token[random.number(in: 0..<Self.token.count)]
                pointer = "/" + name.replacing("~", with: "~0").replacing("/", with: "~1") + pointer
                body = envelope(name, body, &random)
            }
        }
        var document = Document(bytes: [])
        if body.members != nil {
            document.plan.values = try ["/next", "/meta/total", "/meta/token"].map { try JSONPointer($0) }
        }
        document.plan.items = try JSONPointer(pointer)
        if pointer.hasPrefix("/data"), case .object(var members) = body {
            document.plan.deletedItems = try JSONPointer("/gone")
            if random.chance(0.7) {
                members.insert(.init("gone", .array([1, "x", nil])), at: random.number(in: 0..<members.count + 1))
                body = .object(members)
            }
        }
        document.plan.fields = try ["/id", "/a/b", "", "/name/0"].map { try JSONPointer($0) }
        document.bytes = RandomJSON.space(&random) + RandomJSON.text(body, &random) + RandomJSON.space(&random)
        return document
    }

    private func record(_ random: inout SeededRandom) -> JSONValue {
        random.chance(0.8) ? RandomJSON.object(depth: 3, &random) : RandomJSON.value(depth: 2, &random)
    }

    private func envelope(_ name: String, _ list: JSONValue, _ random: inout SeededRandom) -> JSONValue {
        var members: [JSONValue.Member] = [.init(name, list)]
        func add(_ name: String, _ value: JSONValue) {
            members.insert(.init(name, value), at: random.number(in: 0..<members.count + 1))
        }
        if random.chance(0.6) { add("next", RandomJSON.value(depth: 1, &random)) }
        if random.chance(0.6) { add("meta", ["x": RandomJSON.value(depth: 2, &random), "total": 7, "token": "t"]) }
        if random.chance(0.3) { add("x", RandomJSON.value(depth: 4, &random)) }
        return .object(members)
    }

    private func damage(_ bytes: [UInt8], _ random: inout SeededRandom) -> [UInt8] {
        var damaged = bytes
        let alphabet = Array(#"{}[]",:\u0e- tn"#.utf8) + [0x00, 0x0A, 0x80, 0xC3, 0xFF]
        for _ in 0..<random.number(in: 1..<3) {
            guard !damaged.isEmpty else { break }
            let at = random.number(in: 0..<damaged.count)
            switch random.number(in: 0..<4) {
            case 0: damaged[at] = alphabet[random.number(in: 0..<alphabet.count)]
            case 1: damaged.insert(alphabet[random.number(in: 0..<alphabet.count)], at: at)
            case 2: damaged.remove(at: at)
            default: damaged.removeSubrange(at..<min(at + random.number(in: 1..<20), damaged.count))
            }
        }
        if random.chance(0.1) { damaged = Array(damaged.prefix(random.number(in: 0..<damaged.count + 1))) }
        return damaged
    }

    @Test(arguments: [1000, runsSlowTests ? 9000 : 0])
    func `random documents in random chunks are read as the parser reads them`(count: Int) throws {
        guard count > 0 else { return }
        var random = SeededRandom.announced("record scanner fuzz")
        var (valid, rejected, broken) = (0, 0, 0)
        for _ in 0..<count {
            let document = try document(&random)
            let isDamaged = random.chance(0.5)
            let bytes = isDamaged ? damage(document.bytes, &random) : document.bytes
            let whole = ScanOutcome(document.plan, bytes)
            let most = [2, 5, 20, 200][random.number(in: 0..<4)]
            let cut = ScanOutcome(document.plan, bytes) { random.number(in: 1..<most) }
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(cut == whole, "\(text)")
            try checkElements(whole, document.plan, text)
            let oracle = Result { () throws(JSONError) in try JSONValue(parsing: bytes) }
            switch oracle {
            case .success(let value):
                try check(whole, document.plan, value, text)
                valid += 1
            case .failure(let error):
                #expect(isDamaged, "\(error): \(text)")
                let isStricter = error.problem.contains("twice") || error.problem.contains("too large")
                let isNoticed = whole.problem != nil || whole.elements.contains { $0.problem != nil }
                #expect(isNoticed || isStricter, "\(error): \(text)")
                if whole.problem == nil { rejected += 1 } else { broken += 1 }
            }
        }
        print(
            "record scanner fuzz: \(count) documents, \(valid) valid, \(rejected) with rejected records only, "
                + "\(broken) broken"
        )
        #expect(valid * 3 > count && rejected * 30 > count && broken * 5 > count)
    }

    /// Every element that was yielded is judged as the parser judges its bytes.
    private func checkElements(_ outcome: ScanOutcome, _ plan: ScanPlan, _ text: String) throws {
        for element in outcome.elements {
            do throws(JSONError) {
                let value = try JSONValue(parsing: Array(element.text.utf8))
                // Bytes that are not UTF-8 were replaced in the text of this outcome.
                #expect(element.problem == nil || element.problem == .invalidUTF8, "\(element.text)")
                guard element.problem == nil else { continue }
                let expected = plan.fields.map { $0.value(in: value) }
                let found = element.fields.map { $0.flatMap { try? JSONValue(parsing: Array($0.utf8)) } }
                #expect(found == expected, "\(element.text)")
            } catch {
                #expect(element.problem != nil || error.problem.contains("too large"), "\(error): \(element.text)")
            }
        }
    }

    /// A document that the parser accepts is read completely.
    private func check(_ outcome: ScanOutcome, _ plan: ScanPlan, _ oracle: JSONValue, _ text: String) throws {
        let list = plan.items.value(in: oracle)
        let deleted = plan.deletedItems.flatMap { $0.value(in: oracle) }
        guard let elements = list?.elements, deleted == nil || deleted == .null || deleted?.elements != nil else {
            guard case .noArray? = outcome.problem else {
                Issue.record("no array in \(text), but \(String(describing: outcome.problem))")
                return
            }
            return
        }
        #expect(outcome.problem == nil, "\(text)")
        func values(_ list: ScanPlan.List) throws -> [JSONValue] {
            try outcome.elements.filter { $0.list == list }.map { try JSONValue(parsing: Array($0.text.utf8)) }
        }
        #expect(outcome.problems.allSatisfy { $0 == nil }, "\(text)")
        #expect(try values(.items) == elements, "\(text)")
        #expect(try values(.deletedItems) == deleted?.elements ?? [], "\(text)")
        for (pointer, value) in zip(plan.values, outcome.envelope.values) {
            let expected = pointer.value(in: oracle).map { EnvelopeValue($0.bytes[...]) } ?? .missing
            switch (value, expected) {
            // The parser reads -0 as 0, and a number has several texts.
            case (.number, .number): break
            default: #expect(value == expected, "\(pointer) in \(text)")
            }
        }
    }
}
