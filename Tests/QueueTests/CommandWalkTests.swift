import Commands
import Host
import Store
import Testing

@testable import Queue

struct CommandWalkTests {
    @Test func `a walk ends at its limit, and says whether more follow`() throws {
        try InspectionRig.with { rig in
            try rig.submitMany(5)
            let queue = rig.queue
            var walk = CommandWalk(queue, CommandFilter(), order: .oldestFirst, limit: 3)
            let first = try #require(try walk.next())
            #expect(first.count == 3 && walk.isFull && !walk.isComplete && walk.position == first.last?.id)
            #expect(try walk.next() == nil)
            #expect(try walk.hasMore())
            // Another one goes on where it has ended.
            walk = CommandWalk(queue, CommandFilter(), order: .oldestFirst, after: walk.position, limit: 2)
            #expect(try walk.next()?.count == 2)
            #expect(try walk.next() == nil)
            #expect(try !walk.hasMore())
        }
    }

    @Test func `a walk without a limit ends with the last command`() throws {
        try InspectionRig.with { rig in
            try rig.submitMany(1203)
            let queue = rig.queue
            var walk = CommandWalk(queue, CommandFilter(), order: .newestFirst)
            var ids: [CommandID] = []
            while let page = try walk.next() { ids += page.map(\.id) }
            #expect(ids.count == 1203 && Set(ids).count == 1203 && ids == ids.sorted(by: >))
            #expect(walk.isComplete && !walk.isFull && !walk.isOverdue)
            #expect(try !walk.hasMore())
        }
    }

    @Test func `a walk whose time is over reads one page, and goes on no further`() throws {
        try InspectionRig.with { rig in
            try rig.submitMany(3000)
            let queue = rig.queue
            var filter = CommandFilter()
            filter.type = "other"
            var walk = CommandWalk(queue, filter, order: .oldestFirst, limit: 10, within: .zero)
            #expect(try walk.next()?.isEmpty == true)
            #expect(walk.isOverdue && !walk.isComplete && walk.position != nil)
            #expect(try walk.next() == nil)
        }
    }

    @Test func `a count before a change tells those that it is for from the others`() throws {
        try InspectionRig.with { rig in
            try rig.submitMany(4)
            let queue = rig.queue
            let cancelled = try #require(try queue.page(CommandFilter(), order: .oldestFirst, limit: 1).commands.first)
            _ = try queue.cancel(cancelled.id)
            let count = try queue.count(CommandFilter(), in: [.new], limit: 100, shown: 2, within: .seconds(5))
            #expect(count.changing == 3 && count.others == 1 && count.isComplete && count.first.count == 2)
            let selected = try queue.select(CommandFilter()) { $0.status == .new }
            #expect(selected.ids.count == 3 && selected.statuses == [.new])
        }
    }

    @Test func `a store whose server is away has the answer of a busy one`() {
        for code in [StoreError.Code.busy, .unreachable] {
            let answer = SluiceError(StoreError(code, "away")).code.answer
            #expect(answer == ErrorAnswer(exitCode: 75, status: 503, problem: "store-unavailable"), "\(code)")
        }
    }

    @Test func `every error has an answer for the command line and for HTTP`() {
        for code in SluiceError.Code.allCases {
            let answer = code.answer
            #expect((64...78).contains(answer.exitCode), "\(code)")
            #expect((400...599).contains(answer.status), "\(code)")
            // A client is not told of files of the server.
            #expect((answer.problem == nil) == (answer.status == 500), "\(code)")
        }
    }
}
