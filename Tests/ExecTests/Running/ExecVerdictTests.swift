import Commands
import Foundation
import Testing

@testable import Exec

@Suite struct ExecVerdictTests {
    private let program = ExecProgram(name: "thumbnail", path: "/opt/thumbnail")

    private func verdict(
        _ outcome: ProgramEnd.Outcome, stop: ProgramEnd.Stop? = nil, line: String? = nil, after: Duration? = nil
    ) -> ExecVerdict {
        ExecVerdict(ProgramEnd(outcome: outcome, stop: stop), of: program, lastLine: line, retryAfter: after)
    }

    private func failure(_ verdict: ExecVerdict) -> CommandFailure? {
        if case .failure(let failure) = verdict { failure } else { nil }
    }

    @Test func `an exit code is a success, charged or final`() {
        let final: Set<Int32> = [64, 65, 66, 67, 68, 70, 72, 73, 76, 77, 78, 126, 127]
        #expect(verdict(.exited(0)) == .success)
        for code in 1...255 as ClosedRange<Int32> {
            let failure = failure(verdict(.exited(code), line: "no such font", after: .seconds(9)))
            #expect(failure?.fault == (final.contains(code) ? .final : .command))
            #expect(failure?.ambiguous == false)
            #expect(
                failure?.reason.contains("thumbnail") == true && failure?.reason.hasSuffix(": no such font") == true)
            #expect(failure?.retryAfter == (final.contains(code) ? nil : .seconds(9)))
        }
    }

    @Test(arguments: [
        (SIGSEGV, "SIGSEGV"), (SIGKILL, "memory"), (SIGXCPU, "limits.cpu"), (SIGXFSZ, "limits.fileSize"),
        (SIGTERM, "SIGTERM"),
        (40, "signal 40"),
    ])
    func `a signal is charged and named`(_ signal: Int32, _ says: String) {
        let failure = failure(verdict(.signalled(signal)))
        #expect(failure?.fault == .command && failure?.ambiguous == false)
        #expect(failure?.reason.contains(says) == true)
    }

    @Test func `a timeout is charged, and a cancellation is for the caller to decide`() {
        for outcome in [.exited(0), .exited(1), .signalled(SIGKILL)] as [ProgramEnd.Outcome] {
            #expect(failure(verdict(outcome, stop: .timedOut))?.fault == .command)
            #expect(failure(verdict(outcome, stop: .timedOut))?.reason.contains("timed out") == true)
            #expect(failure(verdict(outcome, stop: .idle))?.ambiguous == false)
            #expect(verdict(outcome, stop: .cancelled) == .stopped)
        }
        #expect(verdict(.notStarted(ProgramStartFailure(.cancelled, ECANCELED)), stop: .cancelled) == .stopped)
    }

    @Test func `the loss of the guardian is ambiguous`() {
        #expect(failure(verdict(.guardianLost))?.ambiguous == true)
    }

    @Test func `the loss of the guardian is ambiguous after a cancellation too`() {
        #expect(failure(verdict(.guardianLost, stop: .cancelled))?.ambiguous == true)
    }

    @Test(
        arguments: [
            (.execute, ENOENT, .final, "#!"), (.execute, EACCES, .final, "chmod"),
            (.execute, E2BIG, .final, "too large"),
            (.execute, ENOEXEC, .final, "#!/bin/sh"), (.execute, EISDIR, .final, "directory"),
            (.execute, EAGAIN, .command, ""),
            (.execute, ENOMEM, .command, ""), (.execute, ETXTBSY, .command, "written"), (.execute, EIO, .command, ""),
            (.program, ESTALE, .final, "replaced"), (.killed, SIGKILL, .command, "SIGKILL"),
            (.lockTimeout, EWOULDBLOCK, .command, "earlier run"), (.lock, EMFILE, .command, "lock"),
            (.directory, EACCES, .final, "directory"), (.directory, ESTALE, .command, "directory"),
            (.user, EPERM, .final, "CAP_SETUID"), (.groups, EPERM, .final, "CAP_SETGID"),
            (.group, EAGAIN, .command, ""),
            (.limits, EPERM, .final, "limits"), (.fork, EAGAIN, .command, ""), (.fork, ENOMEM, .command, ""),
            (.prepare, EINVAL, .final, ""), (.prepare, EMFILE, .command, "ulimit -n"),
            (.children, ENOENT, .final, "/proc"),
        ] as [(ProgramStartFailure.Step, Int32, CommandFailure.Fault, String)])
    func `a program that did not start is never ambiguous`(
        _ step: ProgramStartFailure.Step, _ code: Int32, _ fault: CommandFailure.Fault, _ says: String
    ) {
        let failure = failure(verdict(.notStarted(ProgramStartFailure(step, code))))
        #expect(failure?.fault == fault)
        #expect(failure?.ambiguous == false)
        #expect(failure?.reason.contains("cannot start the program “thumbnail”") == true)
        #expect(says.isEmpty || failure?.reason.contains(says) == true, "\(failure?.reason ?? "")")
    }
}
