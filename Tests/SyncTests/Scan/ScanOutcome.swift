@testable import Sync

/// Everything that a scanner reports of a body.
struct ScanOutcome: Equatable {
    struct Element: Equatable {
        var list: ScanPlan.List
        var index: Int
        var text: String
        var problem: RecordProblem?
        var fields: [String?]
    }

    var elements: [Element] = []
    var envelope: Envelope
    var problem: PageProblem?

    /// - Parameter cut: the size of the next chunk.
    init(_ plan: ScanPlan, _ body: [UInt8], cut: () -> Int) {
        var scanner = RecordScanner(plan)
        envelope = scanner.envelope
        do throws(PageProblem) {
            var rest = body[...]
            while !rest.isEmpty {
                scanner.feed(Array(rest.prefix(cut())))
                rest = rest.dropFirst(rest.count - (body.count - scanner.received))
                try drain(&scanner)
            }
            scanner.finish()
            try drain(&scanner)
        } catch {
            problem = error
        }
        envelope = scanner.envelope
    }

    init(_ plan: ScanPlan, _ body: some Sequence<UInt8>, chunk: Int = .max) {
        self.init(plan, Array(body)) { chunk }
    }

    init(_ plan: ScanPlan, _ text: String, chunk: Int = .max) { self.init(plan, text.utf8, chunk: chunk) }

    private mutating func drain(_ scanner: inout RecordScanner) throws(PageProblem) {
        while let element = try scanner.next() {
            elements.append(
                Element(
                    list: element.list, index: element.index, text: String(decoding: element.bytes, as: UTF8.self),
                    problem: element.problem,
                    fields: element.fields.indices.map { element.field($0).map { String(decoding: $0, as: UTF8.self) } }
                ))
        }
    }

    var texts: [String] { elements.filter { $0.problem == nil }.map(\.text) }
    var problems: [RecordProblem?] { elements.map(\.problem) }
}
