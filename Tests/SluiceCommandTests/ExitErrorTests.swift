import Commands
import Operations
import Queue
import Store
import Testing

@testable import SluiceCommand

@Suite struct ExitErrorTests {
    @Test(arguments: [
        (SluiceError.Code.noStore, ExitCode.input), (.source, .input), (.noSuchCommand, .input),
        (.noSuchCollection, .input), (.foreignStore, .data),
        (.conflict, .data), (.invalid, .data), (.notAllowed, .data), (.notPermitted, .permission),
        (.unsuitable, .configuration),
        (.tryAgain, .tryAgain),
        (.cannotWrite, .cannotWrite), (.corrupt, .internalError), (.failed, .internalError), (.usage, .usage),
    ])
    func `each error of the library has its exit code`(_ code: SluiceError.Code, _ exit: ExitCode) {
        let error = ExitError(SluiceError(code, "a sentence"))
        #expect(error.code == exit)
        #expect(error.message == "a sentence")
    }

    @Test func `errors of the store and of payloads have the codes of the library`() {
        #expect(ExitError(StoreError(.busy, "locked")).code == .tryAgain)
        let away = StoreError.unreachable("postgres://db/jobs", "connection refused", after: .seconds(10))
        #expect(ExitError(away).code == .tryAgain)
        #expect(
            ExitError(away).message
                == "The store postgres://db/jobs has not answered for 10 s (connection refused); check that its server runs and "
                + "that this machine reaches it, then try again.")
        #expect(ExitError(StoreError(.missing, "no store")).code == .input)
        #expect(ExitError(StoreError(.full, "no space")).code == .cannotWrite)
        #expect(ExitError(PayloadError(.source, "no file")).code == .input)
        #expect(ExitError(PayloadError(.usage, "no URL")).code == .usage)
    }

    @Test func `exit codes are those of sysexits and of shells`() {
        #expect([ExitCode.usage, .data, .input, .unavailable].map(\.rawValue) == [64, 65, 66, 69])
        #expect([ExitCode.internalError, .cannotCreate, .cannotWrite].map(\.rawValue) == [70, 73, 74])
        #expect([ExitCode.tryAgain, .permission, .configuration].map(\.rawValue) == [75, 77, 78])
        #expect([ExitCode.hungUp, .interrupted, .terminated].map(\.rawValue) == [129, 130, 143])
    }
}
