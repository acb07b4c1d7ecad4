import Glibc
import Host
import Testing

@Suite struct SystemErrorTests {
    @Test func `an error says what failed, why, and what to do`() {
        #expect(
            SystemError(EACCES, "open", "/x").description
                == "cannot open “/x”: permission denied; run as the user that owns it")
        #expect(
            SystemError(ENOENT, attempt: "start a thread").description
                == "cannot start a thread: no such file or directory")
        #expect(SystemError(EMFILE, "open", "/x").description.hasSuffix("raise the limit (ulimit -n), or try again"))
    }

    @Test func `an error without an attempt is only the words of the system`() {
        #expect(SystemError(EIO).description == "input/output error")
        #expect(SystemError(EIO).reason == "input/output error")
        #expect(SystemError(ENOSPC).reason == "no space left on device; make room on its file system")
    }

    @Test func `the last error of the thread is taken by default`() {
        #expect(throws: SystemError(ENOENT, "open", "/no/such/directory/file")) {
            _ = try openFile("/no/such/directory/file", O_RDONLY)
        }
    }
}
