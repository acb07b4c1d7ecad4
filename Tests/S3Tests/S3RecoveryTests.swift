import Commands
import Testing

@testable import S3
@testable import Transfers

/// Each row of the table of crash points (uploads.md, section 3.3).
@Suite struct S3RecoveryTests {
    private let source = SourceIdentity(size: 20 << 20, modified: 5, inode: 6, device: 7)
    private let small = SourceIdentity(size: 5, modified: 5, inode: 6, device: 7)

    private func recovery(keyHasCommand: Bool = false) throws -> S3Recovery {
        S3Recovery(plan: try PartPlan(size: source.size), keyHasCommand: keyHasCommand)
    }

    private func planned() throws -> S3Checkpoint { S3Checkpoint(try PartPlan(size: source.size), of: source) }

    private func initiated() throws -> S3Checkpoint { try planned().initiated("u", abortDate: nil) }

    @Test func `before the first execution an upload is created`() throws {
        #expect(try recovery().first(nil, of: source, acknowledged: []) == .create)
    }

    @Test func `a small file is put in one request, also in a later execution`() throws {
        let plan = try PartPlan(size: small.size)
        let recovery = S3Recovery(plan: plan, keyHasCommand: false)
        #expect(recovery.first(nil, of: small, acknowledged: []) == .put)
        #expect(recovery.first(S3Checkpoint(plan, of: small), of: small, acknowledged: []) == .put)
    }

    @Test func `after a lost answer to Create the upload is looked for where the key proves it ours`() throws {
        #expect(try recovery(keyHasCommand: true).first(planned(), of: source, acknowledged: []) == .listUploads)
        #expect(try recovery().first(planned(), of: source, acknowledged: []) == .create)
        #expect(try recovery().afterUploads(isFound: true) == .listParts)
        #expect(try recovery().afterUploads(isFound: false) == .create)
    }

    @Test func `after a lost answer to a part the parts are compared and the missing ones sent`() throws {
        let recovery = try recovery()
        #expect(try recovery.first(initiated(), of: source, acknowledged: [1]) == .listParts)
        #expect(recovery.afterParts(exists: true, acknowledged: [1]) == .send([2, 3]))
        #expect(recovery.afterParts(exists: true, acknowledged: [1, 2, 3]) == .complete)
    }

    @Test func `with all parts acknowledged the upload is completed`() throws {
        #expect(try recovery().first(initiated(), of: source, acknowledged: [1, 2, 3]) == .complete)
    }

    @Test func `after a lost answer to Complete the object is inspected first`() throws {
        let recovery = try recovery()
        #expect(try recovery.first(initiated().completing(), of: source, acknowledged: [1, 2, 3]) == .inspectObject)
        #expect(recovery.afterObject(.ours, isLost: false) == .succeed)
        #expect(recovery.afterObject(.other, isLost: false) == .listParts)
        // 200: Complete again with our own list. OpenStack Swift lists parts even after a completion.
        #expect(recovery.afterParts(exists: true, acknowledged: [1, 2, 3]) == .complete)
        // 404: HEAD once more, then restart.
        #expect(recovery.afterParts(exists: false, acknowledged: [1, 2, 3]) == .inspectObject)
        #expect(recovery.afterObject(.ours, isLost: true) == .succeed)
        #expect(recovery.afterObject(.other, isLost: true) == .restart)
    }

    @Test func `a cancelled upload is aborted`() throws {
        let recovery = try recovery()
        #expect(try recovery.first(initiated().aborting(), of: source, acknowledged: [1]) == .abort)
    }

    @Test func `an upload of a file that has changed is aborted`() throws {
        var changed = source
        changed.modified += 1
        #expect(try recovery().first(initiated(), of: changed, acknowledged: [1]) == .abort)
        #expect(try recovery().first(planned(), of: changed, acknowledged: []) == .create)
        let single = S3Recovery(plan: try PartPlan(size: small.size), keyHasCommand: false)
        #expect(try single.first(planned(), of: small, acknowledged: []) == .put)
    }
}
