import TestSupport
import Testing

extension EndToEndTests {
    /// The program `simulate`: workers, committers and the memory store in threads that take turns, with faults from a seed.
    @Suite(.filesOnly("the simulation has a store in memory")) struct SimulationTests {
        /// Seeds that have found faults.
        static let oldSeeds = [567_755_765_332, 715_741_219_083, 618_802_751_189, 30_444_311_158]

        private func simulate(_ arguments: String...) async throws -> (code: Int32?, output: String, errors: String) {
            let directory = try TemporaryDirectory("simulation")
            defer { directory.remove() }
            let child = try ChildProcess(
                ["\(Installation.bin)/simulate"] + arguments, environment: ["SWIFT_DETERMINISTIC_HASHING": nil],
                log: "\(directory.path)/log")
            let ending: ChildProcess.Exit
            do {
                ending = try await child.end(within: .seconds(300))
            } catch {
                await child.finish()
                throw error
            }
            let code: Int32? = if case .exited(let code) = ending { code } else { nil }
            return (code, child.output, child.errors)
        }

        @Test(.enabled(if: runsSlowTests, "slow")) func `fresh seeds break no rule for 30 seconds`() async throws {
            let run = try await simulate("--seconds", "30")
            // The first line names the seed, and a violation the command that replays it.
            print(run.errors, run.output)
            #expect(run.code == 0, "\(run.output)")
        }

        @Test func `a seed has one hash in two processes, and another seed has another`() async throws {
            func hash(_ seed: Int) async throws -> Substring {
                let run = try await simulate("--seed", "\(seed)", "--check-hash")
                #expect(run.code == 0, "\(run.output)")
                return try #require(run.output.split(separator: "\n").first { $0.hasPrefix("seed \(seed) hash ") })
                    .split(separator: " ")[3]
            }
            let hashes = try await [hash(7), hash(7), hash(8)]
            #expect(hashes[0] == hashes[1] && hashes[1] != hashes[2])
        }

        @Test(arguments: oldSeeds) func `a seed that has found a fault breaks no rule`(_ seed: Int) async throws {
            let run = try await simulate("--seed", "\(seed)")
            #expect(run.code == 0, "\(run.output)")
        }

        @Test(arguments: ["claim", "fence", "reap", "repetition"])
        func `a store without one of its rules is found within a minute`(_ rule: String) async throws {
            let run = try await simulate("--seconds", "60", "--break", rule)
            #expect(run.code == 1, "\(run.output)\(run.errors)")
            for part in [" breaks O", "replay: simulate --seed "] {
                #expect(run.output.contains(part), "\(run.output)")
            }
        }
    }
}
