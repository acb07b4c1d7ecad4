import Commands
import TestSupport
import Testing
import Wire

#if canImport(Glibc)
    import Glibc
#endif

struct FuzzTests {
    /// `SLUICE_FUZZ_FRAMES` changes the number.
    static let frames = getenv("SLUICE_FUZZ_FRAMES").flatMap { Int(String(cString: $0)) } ?? 1_000_000

    /// A decoder that traps ends the whole test run, so reaching the end is the assertion. A frame that it
    /// accepts must also mean the same once written again.
    @Test(.enabled(if: runsSlowTests, "slow"))
    func `a million mutated frames cause no trap`() throws {
        var random = SeededRandom.announced("wire fuzz")
        var seeds: [[UInt8]] = []
        for _ in 0..<20 { seeds += Samples.all(&random).map { $0.encoded(Samples.head(&random)) } }

        var accepted = 0
        var refused: [String: Int] = [:]
        var frame: [UInt8] = []
        for _ in 0..<Self.frames {
            frame.removeAll(keepingCapacity: true)
            frame.append(contentsOf: seeds[random.number(in: 0..<seeds.count)])
            mutate(&frame, &random)
            let result: Result<(FrameHead, Message), WireError> = frame.withUnsafeBytes { buffer in
                do throws(WireError) { return .success(try Message.decode(buffer)) } catch { return .failure(error) }
            }
            switch result {
            case .success(let (head, message)):
                accepted += 1
                // Each hundredth, because writing costs more than reading.
                if accepted % 100 == 0 {
                    let (again, same) = try Message.decode(message.encoded(head))
                    #expect(again == head)
                    #expect(same == message)
                }
            case .failure(let error): refused["\(error.problem)".prefix { $0 != "(" }.description, default: 0] += 1
            }
        }
        print("wire fuzz: \(accepted) of \(Self.frames) frames accepted, refused: \(refused)")
        // The mutations must reach every kind of error.
        #expect(accepted > 0)
        #expect(refused.count == 5)
    }

    /// One random 64-bit number decides a mutation: drawing several costs more than decoding, in a debug
    /// build.
    func mutate(_ frame: inout [UInt8], _ random: inout SeededRandom) {
        let dice = random.next()
        let position = frame.isEmpty ? 0 : Int(dice >> 8 & 0xFFFF) % frame.count
        let value = UInt8(truncatingIfNeeded: dice >> 32)
        switch dice & 7 {
        case 0: frame[position] = value
        case 1: frame[position] ^= 1 << (value & 7)
        case 2: frame[position] = 0xFF
        case 3:
            frame[position] = value
            frame[Int(dice >> 40 & 0xFFFF) % frame.count] = UInt8(truncatingIfNeeded: dice >> 24)
        case 4: frame.removeLast(frame.count - position)
        case 5: frame.append(value)
        case 6: frame.remove(at: position)
        default:
            // Somewhere in the first bytes of the body, where counts and lengths stand.
            let index = min(20 + Int(value & 15), frame.count - 1)
            frame[index] = UInt8(truncatingIfNeeded: dice >> 40)
        }
    }

    @Test func `random bytes behind a valid head cause no trap`() {
        var random = SeededRandom.announced("wire noise")
        let types: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18, 32, 33]
        for _ in RandomRounds("wire noise", 2000...20_000) {
            let head: [UInt8] = [1, types[random.number(in: 0..<types.count)]] + [UInt8](repeating: 0, count: 18)
            _ = try? Message.decode(head + random.bytes(random.number(in: 0..<120)))
        }
    }
}
