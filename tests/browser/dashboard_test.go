// Package browser clicks through the dashboard as a person does, in headless Chromium.
package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"godwit/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// browser is one window. It notes what the page complains about and whom it asks.
type browser struct {
	t     *testing.T
	ctx   context.Context
	faces chan string // complaints and foreign addresses
	own   string      // prefix of all addresses that may be asked
}

func css(s string) chromedp.CSS { return chromedp.CSS(s) }

// open starts Chromium, which scripts/test installs; without it the test is skipped, unless GODWIT_BROWSER says that it must be there.
func open(t *testing.T, own string) *browser {
	t.Helper()
	path := os.Getenv("GODWIT_BROWSER")
	if path == "" {
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if found, err := exec.LookPath(name); err == nil {
				path = found
				break
			}
		}
	}
	if path == "" {
		t.Skip("there is no Chromium")
	}
	alloc, cancelAlloc := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1200, 900), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := chromedp.NewContext(alloc)
	ctx, cancelTime := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(func() { cancelTime(); cancel(); cancelAlloc() })
	b := &browser{t: t, ctx: ctx, own: own, faces: make(chan string, 1000)}
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			b.faces <- "exception: " + fmt.Sprint(ev.ExceptionDetails.Text, " ", ev.ExceptionDetails.Exception.Description)
		case *log.EventEntryAdded:
			if ev.Entry.Level == log.EntryLevelError && !strings.Contains(ev.Entry.URL, "favicon") {
				b.faces <- "console: " + ev.Entry.Text + " " + ev.Entry.URL
			}
		case *network.EventRequestWillBeSent:
			if u := ev.Request.URL; !strings.HasPrefix(u, own) && !strings.HasPrefix(u, "data:") {
				b.faces <- "another host is asked: " + u
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.fail(err)
	}
}

func (b *browser) fail(err error) {
	b.t.Helper()
	page, _ := chromedp.Run(b.ctx, chromedp.OuterHTML(chromedp.CSS("body")))
	b.t.Fatalf("%v\n%s", err, page)
}

// get returns what an expression comes to in the page.
func get[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.fail(err)
	}
	return v
}

// until waits until an expression holds in the page, which may be another one by then.
func (b *browser) until(expression string) {
	b.t.Helper()
	end := time.Now().Add(30 * time.Second)
	for {
		ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		switch {
		case ok && err == nil:
			return
		case time.Now().After(end) || b.ctx.Err() != nil:
			b.fail(fmt.Errorf("%s does not hold: %w", expression, err))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// sees waits until the text of the page's main part has all of these words.
func (b *browser) sees(words ...string) {
	b.t.Helper()
	for _, w := range words {
		b.until(fmt.Sprintf("document.body.innerText.includes(%q)", w))
	}
}

// click clicks on a link or button by its text.
func (b *browser) click(text string) {
	b.t.Helper()
	b.do(chromedp.Click(fmt.Sprintf(`//*[self::a or self::button][normalize-space()=%q]`, text)))
}

// shot keeps a picture of the page in GODWIT_SCREENSHOTS, if that is set.
func (b *browser) shot(name string) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.fail(err)
	}
	if len(png) < 5000 {
		b.t.Errorf("the picture %s has %d bytes only", name, len(png))
	}
	if dir := os.Getenv("GODWIT_SCREENSHOTS"); dir != "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// quiet fails the test if the page complained or asked somebody else.
func (b *browser) quiet() {
	b.t.Helper()
	for {
		select {
		case f := <-b.faces:
			b.t.Error(f)
		default:
			return
		}
	}
}

// fill makes streams with messages and a consumer that lags.
func fill(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	ctx := context.Background()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for name, more := range map[string]map[string]string{"ORDERS": nil, "WIDE": {"godwit.partitions": "4"}} {
		s, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: name, Subjects: []string{strings.ToLower(name) + ".>"}, Metadata: more})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "slow-" + strings.ToLower(name), AckPolicy: jetstream.AckExplicitPolicy}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 45 {
		m := &nats.Msg{Subject: fmt.Sprintf("orders.%d", i%5), Header: nats.Header{"X-Kind": {"test"}}, Data: fmt.Appendf(nil, `{"order":%d,"what":"a thing"}`, i)}
		switch i {
		case 1:
			m.Data = []byte("plain <b>words</b>")
		case 2:
			m.Data = []byte{0xff, 0, 1, 'G', 'o', 'd', 'w', 'i', 't'}
		}
		if _, err := js.PublishMsg(ctx, m); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(ctx, fmt.Sprintf("wide.%d", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	return js
}

func TestClickThrough(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: "server_name: bird"})
	nc := s.Connect(t, nats.Name("clicker"))
	js := fill(t, nc)
	c, err := js.Consumer(context.Background(), "ORDERS", "slow-orders")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(); err != nil { // one is unacknowledged
		t.Fatal(err)
	}
	b := open(t, s.MonitorURL())
	b.do(chromedp.Navigate(s.MonitorURL() + "/"))
	b.click("Dashboard")
	b.sees("Overview", "connections", "stored messages", "90", "healthy", "bird")
	b.do(chromedp.WaitVisible(css(".plot canvas")))
	b.shot("overview")
	b.click("Streams")
	b.sees("ORDERS", "WIDE", "orders.>", "45")
	b.shot("streams")
	b.click("ORDERS")
	b.sees("slow-orders", "to be delivered", "44", "slow-orders: lag in seconds", "Look at messages")
	b.until(`/\d (ms|s)/.test(document.querySelector('.wide table').innerText)`) // the lag in seconds
	b.shot("stream")
	b.click("Look at messages")
	b.sees("#1", "orders.0", "#20")
	b.do(chromedp.Click(css("details:nth-of-type(1) summary")), chromedp.Click(css("details:nth-of-type(2) summary")), chromedp.Click(css("details:nth-of-type(3) summary")))
	b.sees(`"order": 0`, "X-Kind: test", "plain <b>words</b>", "ff 00 01 47", "···Godwit")
	b.shot("messages")
	b.do(chromedp.SetValue(css("#as"), "hex"))
	get[bool](b, `document.getElementById('as').dispatchEvent(new Event('change'))`)
	b.do(chromedp.Click(css("details:nth-of-type(1) summary")))
	b.sees("7b 22 6f 72 64 65 72")
	b.click("Next →")
	b.sees("#21", "#40")
	b.click("← Back")
	b.sees("#1")
	b.click("Newest")
	b.sees("#26", "#45")
	b.do(chromedp.SetValue(css("#subject"), "orders.4"), chromedp.SetValue(css("#from"), "1"), chromedp.SendKeys(css("#subject"), kb.Enter))
	b.until(`[...document.querySelectorAll('summary')].length === 9 && [...document.querySelectorAll('summary')].every(s => s.innerText.includes('orders.4'))`)
	b.do(chromedp.SetValue(css("#subject"), "not..valid"), chromedp.SendKeys(css("#subject"), kb.Enter))
	b.sees("not a valid subject")
	b.click("Streams")
	b.click("WIDE")
	b.sees("Partitions", "slow-wide")
	b.click("Connections")
	b.sees("clicker", "go ")
	b.shot("connections")

	// What the browser says about a refused question is expected; nothing else is.
	for len(b.faces) > 0 {
		if f := <-b.faces; !strings.Contains(f, "400 (Bad Request)") {
			t.Error(f)
		}
	}

	t.Run("keyboard", func(t *testing.T) {
		b.do(chromedp.Navigate(s.MonitorURL()+"/dashboard/#/"), chromedp.WaitVisible(css(".cards")))
		get[bool](b, `document.activeElement.blur() || true`)
		for _, want := range []string{"Skip to content", "Godwit", "Overview", "Streams"} {
			b.do(chromedp.KeyEvent(kb.Tab))
			if got := get[string](b, `document.activeElement.innerText.trim()`); got != want {
				t.Errorf("the focus is on %q, want %q", got, want)
			}
		}
		b.do(chromedp.KeyEvent(kb.Enter))
		b.sees("ORDERS")
	})
	t.Run("phone, dark", func(t *testing.T) {
		b.do(chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile))
		_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}})
		if err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.Navigate(s.MonitorURL()+"/dashboard/#/"), chromedp.WaitVisible(css(".plot canvas")))
		if get[bool](b, `document.documentElement.scrollWidth > document.documentElement.clientWidth`) {
			t.Error("the page is wider than the screen")
		}
		background := func() string { return get[string](b, `getComputedStyle(document.body).backgroundColor`) }
		if got := background(); got != "rgb(22, 24, 26)" {
			t.Errorf("the background is %s", got)
		}
		b.shot("phone")
		b.do(chromedp.Click(css("#theme")))
		if got := background(); got != "rgb(251, 251, 250)" {
			t.Errorf("the other background is %s", got)
		}
	})
	b.quiet()
}

// With a login the pages ask for it, and messages are shown only to users who may see them.
func TestLoginIsHonoured(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true, Config: `http_authorization { users: [{user: ops, password: p}, {user: reader, password: p, messages: true}] }`})
	fill(t, s.Connect(t))
	for path, want := range map[string]int{"/dashboard/": 401, "/dashboard/app.js": 401, "/dashboard/api/streams": 401, "/healthz": 200} {
		resp, err := http.Get(s.MonitorURL() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s without a login: %s", path, resp.Status)
		}
	}
	for user, want := range map[string]string{"ops": "messages are not shown here", "reader": "#1"} {
		b := open(t, s.MonitorURL())
		headers := network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Basic " + basic(user, "p")}}
		if _, err := chromedp.Call(b.ctx, network.SetExtraHTTPHeaders, headers); err != nil {
			t.Fatal(err)
		}
		b.do(chromedp.Navigate(s.MonitorURL() + "/dashboard/#/stream/$G/ORDERS/messages"))
		b.sees(want)
		if user == "ops" {
			if strings.Contains(get[string](b, `document.body.innerText`), "orders.0") {
				t.Error("messages are shown to a user who may not see them")
			}
		}
	}
}

// A server that goes away is told of, and that it is back.
func TestServerGoesAway(t *testing.T) {
	s := harness.Start(t, harness.Options{Streams: true})
	b := open(t, s.MonitorURL())
	b.do(chromedp.Navigate(s.MonitorURL()+"/dashboard/"), chromedp.WaitVisible(css(".cards")))
	s.Stop()
	b.sees("The server does not answer")
	b.shot("gone")
}
