import Commands
import Store
import Synchronization
import Testing
import UploadSpool

@testable import Uploads

struct UploadAdmissionTests {
    /// A site that answers the same to each question.
    private final class Site: UploadAdmission {
        private let questions = Mutex<[UploadFacts]>([])
        private let answer: Result<UploadDecision, UploadError>

        init(_ answer: Result<UploadDecision, UploadError> = .success(UploadDecision())) { self.answer = answer }

        var asked: [UploadFacts] { questions.withLock { $0 } }

        func decision(on facts: UploadFacts, length: Int64?) async throws(UploadError) -> UploadDecision {
            questions.withLock { $0.append(facts) }
            return try answer.get()
        }
    }

    private static let key = IdempotencyKey(value: "k", token: "t")

    private static func facts(_ name: String? = nil, route: String? = nil) -> UploadFacts {
        var facts = UploadFacts(origin: .tus)
        (facts.fileName, facts.route, facts.token) = (name, route, "t")
        return facts
    }

    @Test func `each way to create an upload asks the site once, and a repeat asks it nothing`() async throws {
        let rig = try UploadRig()
        let site = Site()
        let engine = rig.engine(admission: site)
        let open = try await engine.create(Self.facts("open"), length: 4, key: Self.key)
        #expect(try await engine.create(Self.facts("open"), length: 4, key: Self.key).id == open.id)
        try await engine.send([1, 2], to: open.id, at: 0)
        try await engine.send([3, 4], to: open.id, at: 2)
        let small = IdempotencyKey(value: "small", token: "t")
        for _ in 0..<2 { _ = try await engine.store(Self.facts("small"), [1], key: small) }
        var part = Self.facts("part")
        part.concatenation = .partial
        let first = try await engine.create(part, length: 1, key: nil)
        try await engine.send([1], to: first.id, at: 0)
        for _ in 0..<2 { _ = try await engine.concatenate([first.id], Self.facts("whole"), key: nil) }
        #expect(site.asked.map(\.fileName) == ["open", "small", "part", "whole"])
    }

    @Test func `a refused creation leaves nothing, and its words reach the client`() async throws {
        let rig = try UploadRig { $0.maxTokenCreations = 1 }
        let refusal = UploadError(.refused, "No credit is left.")
        let engine = rig.engine(admission: Site(.failure(refusal)))
        for _ in 0..<3 {
            let error = try await uploadError { try await engine.create(Self.facts(), length: 1, key: Self.key) }
            #expect(error == refusal, "it does not count as a creation")
        }
        let small = try await uploadError { try await engine.store(Self.facts(), [1], key: nil) }
        #expect(small == refusal)
        #expect(
            try (0..<2).allSatisfy {
                try rig.store.uploads(shard: $0, state: nil, order: .oldestFirst, after: nil, limit: 9).isEmpty
            })
        #expect(try rig.spooledFiles().isEmpty && engine.statistics.counts.created.isEmpty)
    }

    @Test func `the site is not asked where the route or the spool does not take the upload`() async throws {
        let rig = try UploadRig { $0.quota = 10 }
        let site = Site()
        let engine = rig.engine(admission: site)
        let unknown = try await uploadError {
            try await engine.create(Self.facts(route: "unknown"), length: 1, key: nil)
        }
        #expect(unknown.code == .invalid)
        let large = try await uploadError { try await engine.create(Self.facts(), length: 11, key: nil) }
        #expect(large.code == .noSpace && site.asked.isEmpty)
    }

    @Test func `what the site sets is that of the upload, and the client repeats what it has stated`() async throws {
        let rig = try UploadRig(isDurable: true)
        var decision = UploadDecision()
        (decision.fileName, decision.metadata) = ("b.mp4", ["user": "7"])
        let engine = rig.engine(admission: Site(.success(decision)))
        var facts = Self.facts("a.mp4")
        facts.metadata = "filename YS5tcDQ="
        let made = try await engine.create(facts, length: 2, key: Self.key)
        #expect(made.facts.fileName == "b.mp4" && made.facts.siteMetadata == ["user": "7"])
        #expect(try await rig.engine(admission: Site()).create(facts, length: 2, key: Self.key).id == made.id)
        // Its metadata are those of the client still: another request may state them.
        let whole = try await engine.send([1, 2], to: made.id, at: 0) { $0.metadata = facts.metadata }
        #expect(whole.state == .complete && whole.facts == made.facts)
    }

    @Test func `what the route does not take of the site is not the fault of the client`() async throws {
        let rig = try UploadRig()
        var decision = UploadDecision()
        decision.fileName = "unfit"
        let engine = rig.engine(admission: Site(.success(decision)))
        let error = try await uploadError {
            try await engine.create(Self.facts("a", route: "noop"), length: 1, key: nil)
        }
        #expect(error == .noDecision)
    }

    @Test func `grants of one maker share its room, and have a bound of their own`() async throws {
        let rig = try UploadRig { ($0.tokenQuota, $0.maxTokenUploads) = (100, 3) }
        func grant(_ id: String, maxBytes: Int64? = nil) -> UploadFacts {
            var facts = Self.facts(id)
            facts.token = id
            facts.grant = UploadFacts.Grant(maker: "maker", maxBytes: maxBytes)
            return facts
        }
        let engine = rig.engine()
        let first = try await engine.create(grant("a", maxBytes: 60), length: 50, key: nil)
        try await engine.send([UInt8](repeating: 1, count: 50), to: first.id, at: 0)
        for engine in [engine, rig.engine()] {
            _ = try await engine.recover()
            let bound = try await uploadError {
                try await engine.create(grant("a", maxBytes: 60), length: 11, key: nil)
            }
            #expect(bound.code == .noSpace && bound.message.contains("10 more bytes"), "\(bound)")
            let shared = try await uploadError { try await engine.create(grant("b"), length: 51, key: nil) }
            #expect(shared.code == .noSpace && shared.message.contains("50 more bytes"), "\(shared)")
        }
        var maker = Self.facts("maker")
        maker.token = "maker"
        for facts in [maker, grant("c"), grant("d")] { _ = try await engine.create(facts, length: 1, key: nil) }
        let many = try await uploadError { try await engine.create(grant("e"), length: 1, key: nil) }
        #expect(many.code == .tooMany(wait: .seconds(60)), "their open uploads count together")
        var other = Self.facts("other")
        other.token = "other"
        #expect(try await engine.create(other, length: 51, key: nil).state == .open)
    }
}
