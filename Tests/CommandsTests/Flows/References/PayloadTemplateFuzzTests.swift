import Commands
import TestSupport
import Testing

@Suite struct PayloadTemplateFuzzTests {
    @Test func `random payloads with references never crash`() throws {
        var random = SeededRandom.announced("payload references")
        var (accepted, resolved) = (0, 0)
        for _ in 0..<20_000 {
            let payload = value(&random, depth: 0, withTemplates: true)
            guard let template = try? PayloadTemplate(payload) else { continue }
            accepted += 1
            #expect(template.isPlain ? template.withHoles == payload : true)
            #expect(template.references.isEmpty || !template.isPlain)
            let results = value(&random, depth: 3, withTemplates: true)
            let maxBytes = random.chance(0.2) ? random.number(in: 0..<100) : 1 << 20
            let outcome = try? template.resolved(nodes: ["a", "ab", "b"], maxBytes: maxBytes) { _ in
                random.chance(0.1) ? nil : results
            }
            guard let outcome else { continue }
            resolved += 1
            if template.isPlain {
                #expect(outcome == payload)
            } else {
                #expect(outcome.bytes.count <= maxBytes && (try? JSONValue(parsing: outcome.bytes)) != nil)
                if !template.hasReferences { #expect(outcome == template.withHoles) }
            }
        }
        print("payload references: \(accepted) of 20,000 accepted, \(resolved) resolved")
        #expect(accepted > 5000 && resolved > 2000)
    }

    @Test func `a payload without references resolves to itself`() throws {
        var random = SeededRandom.announced("plain payloads")
        for _ in RandomRounds("plain payloads", 500...5000) {
            let payload = value(&random, depth: 0, withTemplates: false)
            let template = try PayloadTemplate(payload)
            #expect(template.isPlain && template.withHoles == payload)
            #expect(try template.resolved { _ in JSONValue?.none } == payload)
        }
    }

    private func value(_ random: inout SeededRandom, depth: Int, withTemplates: Bool) -> JSONValue {
        if withTemplates, depth > 0, random.chance(0.3) { return template(&random, depth: depth) }
        switch random.number(in: 0..<(depth < 5 ? 9 : 6)) {
        case 0: return .null
        case 1: return .bool(random.chance(0.5))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: return .number(Double(random.number(in: -1000..<1000)) / 8 + 0.0625)
        case 4, 5: return .string(text(&random))
        case 6:
            var elements: [JSONValue] = []
            for _ in 0..<random.number(in: 0..<4) {
                elements.append(value(&random, depth: depth + 1, withTemplates: withTemplates))
            }
            return .array(elements)
        default:
            var members: [JSONValue.Member] = []
            for index in 0..<random.number(in: 0..<4) {
                members.append(
                    .init("\(text(&random))\(index)", value(&random, depth: depth + 1, withTemplates: withTemplates)))
            }
            return .object(members)
        }
    }

    private func template(_ random: inout SeededRandom, depth: Int) -> JSONValue {
        let names = ["a", "b/x", "ab/0/1", "b/~1~0", "01998b5e-7c2a-7000-8000-000000000001/x", "a*", "", "x y", "b/~"]
        let name = JSONValue.string(names[random.chance(0.9) ? random.number(in: 0..<5) : random.number(in: 0..<9)])
        var members: [JSONValue.Member]
        switch random.number(in: 0..<8) {
        case 0, 1: members = [.init("$result", name)]
        case 2: members = [.init("$results", ["a", "b"])]
        case 3: members = [.init("$results", random.chance(0.9) ? "a*" : name)]
        case 4: members = [.init("$flow", random.chance(0.9) ? "id" : name)]
        case 5: members = [.init("$literal", value(&random, depth: depth + 1, withTemplates: true))]
        case 6: members = [.init("$text", ["h", ["$result": name], 1])]
        default: members = [.init("$text", value(&random, depth: depth + 1, withTemplates: true))]
        }
        if random.chance(0.3) {
            members.append(.init("default", value(&random, depth: depth + 1, withTemplates: true)))
        }
        if random.chance(0.1) { members.append(.init("x", 1)) }
        return .object(members)
    }

    private func text(_ random: inout SeededRandom) -> String {
        let pieces = ["a", "$", "$result", "~", "/", "\"", "\\", "\n", "ä", "e\u{301}", "\u{1}", "😀", "*", "1"]
        return (0..<random.number(in: 0..<4)).map { _ in pieces[random.number(in: 0..<pieces.count)] }.joined()
    }
}
