import Commands
import Console
import Queue
import Store
import Testing

@testable import DoorLive

struct TransitionSamplerTests {
    @Test func `a reading counts the transitions since the last one, and names the failures`() async throws {
        try await LiveRig.with { rig in
            var sampler = TransitionSampler()
            #expect(try sampler.sample(rig.queue)?.succeeded ?? 0 == 0)
            try rig.execute(try rig.submit(20), .success(result: nil))
            try rig.execute(
                try rig.submit(3), .failure(CommandFailure(.command, reason: "503 Service Unavailable")))
            let sample = try #require(try sampler.sample(rig.queue))
            #expect(sample.succeeded == 20 && sample.failed == 3)
            #expect(sample.problems.count == 3)
            #expect(sample.problems.allSatisfy { $0.status == "error" && $0.reason == "503 Service Unavailable" })
            let quiet = try #require(try sampler.sample(rig.queue))
            #expect(quiet == TransitionSampler.Sample())
        }
    }

    @Test func `the counts of a burst are scaled from its newest transitions`() async throws {
        try await LiveRig.with { rig in
            var sampler = TransitionSampler()
            try rig.submit(1)
            _ = try sampler.sample(rig.queue)
            try rig.submit(3 * TransitionSampler.maxRead)
            try rig.execute(try rig.submit(800), .success(result: nil))
            let sample = try #require(try sampler.sample(rig.queue))
            // The newest 4,000 have about 800 of 2,400 transitions that are a success.
            #expect(sample.succeeded > 800)
        }
    }
}
