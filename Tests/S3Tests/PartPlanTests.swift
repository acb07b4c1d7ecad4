import TestSupport
import Testing

@testable import S3

@Suite struct PartPlanTests {
    private static let mebibyte: Int64 = 1 << 20
    private static let gibibyte: Int64 = 1 << 30

    @Test(arguments: [
        // size, part size, count
        (0, 8 * mebibyte, 1), (1, 8 * mebibyte, 1), (8 * mebibyte, 8 * mebibyte, 1),
        (8 * mebibyte + 1, 8 * mebibyte, 2),
        (80_000 * mebibyte, 8 * mebibyte, 10_000),
        // One byte more, and parts grow by whole MiB.
        (80_000 * mebibyte + 1, 9 * mebibyte, 8889), (90_000 * mebibyte, 9 * mebibyte, 10_000),
        (gibibyte * 1000, 103 * mebibyte, 9942), (PartPlan.maxSize, 5 * gibibyte, 10_000),
    ])
    func `a part has 8 MiB, or as many MiB as 10,000 parts need`(_ size: Int64, _ partSize: Int64, _ count: Int) throws
    {
        let plan = try PartPlan(size: size)
        #expect(plan.partSize == partSize)
        #expect(plan.count == count)
        #expect(plan.isSingle == (count == 1))
    }

    @Test(arguments: [
        (5 * mebibyte, 5 * mebibyte, 1), (50_000 * mebibyte, 5 * mebibyte, 10_000),
        (10 * gibibyte, 5 * gibibyte, 2), (5 * gibibyte, 5 * gibibyte, 1), (7 * mebibyte, 6 * mebibyte + 1, 2),
    ])
    func `a part size of the payload is used as it is`(_ size: Int64, _ partSize: Int64, _ count: Int) throws {
        let plan = try PartPlan(size: size, partSize: partSize)
        #expect(plan.partSize == partSize && plan.count == count)
    }

    @Test(
        arguments: [
            (-1, nil, "not a size"), (PartPlan.maxSize + 1, nil, "48.8 TiB"), (.max, nil, "48.8 TiB"),
            (100, 5 * mebibyte - 1, "5 MiB to 5 GiB"), (100, 5 * gibibyte + 1, "5 MiB to 5 GiB"),
            (100, 0, "5 MiB to 5 GiB"), (100, -8 * mebibyte, "5 MiB to 5 GiB"),
            (50_000 * mebibyte + 1, 5 * mebibyte, "set “partSize” to 8388608"),
            (PartPlan.maxSize, 5 * mebibyte, "set “partSize” to 5368709120"),
        ] as [(Int64, Int64?, String)])
    func `an impossible plan is refused with its numbers`(_ size: Int64, _ partSize: Int64?, _ words: String) throws {
        let error = try #require(throws: PartPlanError.self) { try PartPlan(size: size, partSize: partSize) }
        #expect(error.message.contains(words), "\(error)")
    }

    @Test func `parts of random files are equal but the last, and cover every byte once`() throws {
        var random = SeededRandom.announced("plans of random files")
        for _ in 0..<500 {
            let size = Int64.random(in: 0...PartPlan.maxSize >> random.number(in: 0..<46), using: &random)
            let plan = try PartPlan(size: size)
            #expect(PartPlan.partSizes.contains(plan.partSize) && plan.partSize % Self.mebibyte == 0)
            #expect((1...PartPlan.maxParts).contains(plan.count))
            var end: Int64 = 0
            var areEqual = true
            for number in 1...plan.count {
                let range = plan.range(of: number) ?? 0..<0
                areEqual = areEqual && range.lowerBound == end && (range.count == plan.partSize || number == plan.count)
                end = range.upperBound
            }
            #expect(areEqual && end == size)
            if plan.count > 1 { #expect(!(try #require(plan.range(of: plan.count)).isEmpty)) }
        }
    }

    @Test func `missing parts and acknowledged bytes follow from the numbers`() throws {
        let plan = try PartPlan(size: 20 * Self.mebibyte)
        #expect(plan.count == 3)
        #expect(plan.missing([2, 99, 0]) == [1, 3])
        #expect(plan.missing([1, 2, 3]).isEmpty)
        #expect(plan.bytes(of: [1, 3, 3, 4, 0, -1]) == 12 * Self.mebibyte)
        for number in [0, -1, 4, .max, .min] { #expect(plan.range(of: number) == nil) }
        #expect(try PartPlan(size: 0).range(of: 1) == 0..<0)
    }
}
