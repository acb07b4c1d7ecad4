import Testing
import UploadSpool

@testable import Door

/// The figures by which uploads are refused, and the sentences about them.
struct SpoolFiguresTests {
    @Test(
        arguments: [
            // used, promised, free, floor, quota, room
            (0, 0, 100, 10, nil, 90), (0, 20, 100, 10, nil, 70), (0, 0, 10, 10, nil, 0), (0, 5, 12, 10, nil, 0),
            (60, 0, 1000, 10, 100, 40), (100, 0, 1000, 10, 100, 0), (120, 0, 1000, 10, 100, 0),
            (60, 0, 30, 10, 100, 20),
        ] as [(Int64, Int64, Int64, Int64, Int64?, Int64)])
    func `the problem is there where there is no room`(
        used: Int64, promised: Int64, free: Int64, floor: Int64, quota: Int64?, room: Int64
    ) throws {
        let figures = SpoolFigures(used: used, promised: promised, free: free, floor: floor, quota: quota)
        #expect(figures.room == room && (figures.problem == nil) == (room > 0))
        guard let problem = figures.problem else { return }
        #expect(problem.contains(quota.map { used >= $0 } == true ? "door.uploadQuota" : "door.minFreeSpace"))
    }

    @Test func `routes of open uploads that are not configured are named`() {
        let sentences = MissingRoutes.sentences(["archive": 1, "media": 3], in: UploadRoutes())
        #expect(sentences.count == 2 && sentences[0].hasPrefix("1 open upload of the route “archive”"))
        #expect(sentences[1].hasPrefix("3 open uploads of the route “media”"))
    }
}
