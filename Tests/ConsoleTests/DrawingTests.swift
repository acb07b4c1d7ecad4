import Commands
import Console
import Host
import Testing

@Suite struct DrawingTests {
    @Test func `a bar is filled by eighths`() {
        #expect(ProgressBar.bar(0, width: 4) == "░░░░")
        #expect(ProgressBar.bar(0.5, width: 4) == "██░░")
        #expect(ProgressBar.bar(0.15, width: 4) == "▌░░░")
        #expect(ProgressBar.bar(7, width: 4) == "████")
        #expect(ProgressBar.bar(.nan, width: 4) == "░░░░")
        #expect(ProgressBar.bar(1, width: 0).isEmpty)
    }

    @Test func `a sparkline shows the newest value last`() {
        #expect(Sparkline.text([0, 4, 8], width: 4) == " ▁▄█")
        #expect(Sparkline.text([1, 2, 3, 4], width: 2) == "▆█")
        #expect(Sparkline.text([], width: 3) == "   ")
        #expect(Sparkline.text([0, 0], width: 2) == "▁▁")
    }

    @Test func `a progress line fits every width`() {
        var progress = TransferProgress(commands: 5, total: 2_700_000_000)
        progress.ended = 2
        progress.failed = 1
        progress.done = 1_200_000_000
        progress.rate = 88_000_000
        for columns in 0...200 { #expect(ProgressBar.line(progress, columns: columns).count <= columns) }
        let line = ProgressBar.line(progress, columns: 120)
        #expect(line.contains("2/5 done"))
        #expect(line.contains("1 failed"))
        #expect(line.contains("44%"))
        #expect(line.contains("88 MB/s"))
        #expect(line.contains("17s left"))
    }

    @Test func `a copy shows its progress after 400 ms, and then five times a second`() {
        let start = MonotonicTime(nanoseconds: 7)
        var copy = CopyProgress(files: 2, total: 1000, now: start)
        let early = copy.add(bytes: 100, now: start + .milliseconds(399))
        #expect(early == nil)
        let first = copy.add(bytes: 100, now: start + .milliseconds(400))
        #expect(first?.done == 200 && first?.total == 1000 && first?.rate == 500)
        #expect(first?.commands == 2 && first?.ended == 0)
        let between = copy.add(bytes: 100, files: 1, now: start + .milliseconds(599))
        #expect(between == nil)
        let second = copy.add(bytes: 300, now: start + .milliseconds(600))
        #expect(second?.done == 600 && second?.ended == 1 && second?.rate == 1000)
        // Of empty files their number tells.
        var empty = CopyProgress(files: 2, total: 0, now: start)
        let half = empty.add(files: 1, now: start + .milliseconds(500))
        #expect(half?.fraction == 0.5 && half?.rate == 0)
    }

    @Test func `a bulk shows its number of commands and its rate`() {
        var bulk = BulkProgress(now: .zero)
        let early = bulk.add(4096, now: .zero + .milliseconds(300))
        #expect(early == nil)
        let said = bulk.add(4096, now: .zero + .milliseconds(500))
        #expect(said == "8,192 submitted  16,384/s")
    }

    @Test func `text is cut by cells and loses control characters`() {
        #expect(TerminalText.cut("hello", width: 5) == "hello")
        #expect(TerminalText.cut("hello", width: 4) == "hel…")
        #expect(TerminalText.cut("日本語", width: 4) == "日…")
        #expect(TerminalText.cut("a\u{1B}[2Jb", width: 10) == "a [2Jb")
        #expect(TerminalText.fit("ab", width: 4, alignRight: true) == "  ab")
        #expect(TerminalText.cut("x", width: 0).isEmpty)
    }
}
