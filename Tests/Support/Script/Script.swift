/// The rules of a test server, with the number of matches of each. `SCRIPT.md` describes the language.
package struct Script: Sendable {
    /// The steps for one request.
    struct Choice {
        var steps: [ScriptStep]
        /// The number of the request, as its rule counts, from 1; 0 without a rule.
        var number: Int
    }

    private struct Counted {
        var rule: ScriptRule
        var count = 0
        /// The counts of each target, for rules that count targets separately.
        var counts: [String: Int] = [:]

        mutating func next(_ path: String) -> Int {
            guard rule.countsEachPath else {
                count += 1
                return count
            }
            counts[path, default: 0] += 1
            return counts[path] ?? 1
        }
    }

    private var rules: [Counted] = []
    /// The steps for a request that matches no rule.
    static let otherwise: [ScriptStep] = [.read(), .answer(ScriptAnswer(201))]

    /// A script without rules.
    package init() {}

    /// - Throws: ``ScriptError`` with the number of the line.
    package init(parsing text: String) throws(ScriptError) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let content = line.drop { $0 == " " || $0 == "\t" }
            guard !content.isEmpty, content != "\r", !content.hasPrefix("#") else { continue }
            do {
                var parser = try ScriptParser(content)
                rules.append(Counted(rule: try parser.rule()))
            } catch {
                throw ScriptError(line: index + 1, problem: error.problem)
            }
        }
    }

    /// Chooses the rule for a request, and counts the request in every rule that covers it.
    mutating func choose(_ request: ScriptRule.Request) -> Choice {
        var choice: Choice?
        for index in rules.indices where rules[index].rule.covers(request) {
            let number = rules[index].next(request.path)
            if choice == nil, rules[index].rule.holds(request, number: number) {
                choice = Choice(steps: rules[index].rule.steps, number: number)
            }
        }
        return choice ?? Choice(steps: Self.otherwise, number: 0)
    }
}
