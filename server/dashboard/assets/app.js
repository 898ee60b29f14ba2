// The pages of the dashboard. Nothing but this server is asked, and all text is put in as text.
const every = 2000 // ms between two looks
const kept = 450   // points of a plot: 15 minutes

const main = document.getElementById('main')
const base = new URL('..', location.href).pathname
let view = { leave() {}, tick: async () => {} }
let showing = 0 // counts views, so that late answers for an earlier one are dropped

// el makes an element: attributes, then children, which are elements or text.
function el(name, attributes = {}, ...children) {
  const e = document.createElement(name)
  for (const [k, v] of Object.entries(attributes)) {
    if (k === 'on') for (const [event, f] of Object.entries(v)) e.addEventListener(event, f)
    else if (v === true) e.setAttribute(k, '')
    else if (v !== false && v != null) e.setAttribute(k, v)
  }
  e.append(...children.filter(c => c != null))
  return e
}

const number = n => (n ?? 0).toLocaleString('en-US')
function size(n) {
  if (!(n >= 1024)) return `${n ?? 0} B`
  let i = -1
  do { n /= 1024; i++ } while (n >= 1024 && i < 5)
  return `${n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0)} ${'KMGTPE'[i]}iB`
}
function span(s) {
  if (!s) return '–'
  if (s < 1) return `${Math.round(s * 1000)} ms`
  if (s < 60) return `${s.toFixed(1)} s`
  if (s < 3600) return `${Math.floor(s / 60)} m ${Math.floor(s % 60)} s`
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} m`
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`
}
const when = t => t && !t.startsWith('0001') ? t.replace('T', ' ').replace(/(\.\d{3})\d*/, '$1').replace('Z', ' UTC') : '–'

// ask fetches from the server; errors say what the server says.
async function ask(path, parameters = {}) {
  const q = new URLSearchParams(Object.entries(parameters).filter(([, v]) => v !== '' && v != null))
  const answer = await fetch(base + path + (q.size ? '?' + q : ''))
  if (path === 'healthz') return answer.json()
  if (!answer.ok) {
    const text = await answer.text()
    let said = text
    try { said = JSON.parse(text).error || text } catch { /* plain text */ }
    throw Object.assign(new Error(said.trim() || answer.statusText), { status: answer.status })
  }
  return answer.json()
}

function trouble(text) {
  const p = document.getElementById('trouble')
  p.hidden = !text
  p.textContent = text || ''
}

// Plot draws lines over time. names are those of the lines; format shows a value.
class Plot {
  constructor(title, names, format = number) {
    this.box = el('div', { class: 'plot', role: 'img', 'aria-label': title })
    this.data = [[], ...names.map(() => [])]
    this.title = title
    this.names = names
    this.format = format
  }
  start() {
    const style = getComputedStyle(document.documentElement)
    const colour = name => style.getPropertyValue(name).trim()
    const axis = { stroke: colour('--dim'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line') } }
    const strokes = [colour('--accent'), colour('--warn'), colour('--good')]
    this.u?.destroy()
    this.u = new uPlot({
      title: this.title, width: this.width(), height: 200, cursor: { y: false },
      scales: { x: { range: (_, low, high) => high ? [Math.min(low, high - 60), high] : [Date.now() / 1000 - 60, Date.now() / 1000] }, y: { range: (_, low, high) => [0, Math.max(high || 0, 1) * 1.05] } },
      axes: [axis, { ...axis, size: 74, values: (_, v) => v.map(n => n ? this.format(n) : '0') }],
      series: [{}, ...this.names.map((label, i) => ({ label, stroke: strokes[i], width: 2, value: (_, v) => v == null ? '–' : this.format(v) }))],
    }, this.data, this.box)
  }
  width() { return Math.max(this.box.clientWidth - 12, 220) }
  add(values) {
    this.data[0].push(Date.now() / 1000)
    values.forEach((v, i) => this.data[i + 1].push(v))
    for (const d of this.data) if (d.length > kept) d.shift()
    this.u?.setData(this.data)
  }
  resize() { this.u?.setSize({ width: this.width(), height: 200 }) }
}
const plots = new Set()
function plot(...a) { const p = new Plot(...a); plots.add(p); return p }
addEventListener('resize', () => plots.forEach(p => p.resize()))

// rate returns a function that turns a growing count into one per second.
function rate() {
  let last, at
  return n => {
    const now = performance.now()
    const r = at === undefined || n < last ? null : (n - last) * 1000 / (now - at)
    last = n; at = now
    return r
  }
}

function cards(list) {
  return el('ul', { class: 'cards' }, ...list.map(([label, value, kind]) => el('li', {}, el('b', { class: [kind, String(value).length > 14 ? 'long' : ''].join(' ').trim() || null }, value), el('span', {}, label))))
}

// table makes one from columns, [label, cell of a row, class], and rows.
function table(columns, rows, nothing) {
  if (!rows?.length) return el('p', { class: 'dim' }, nothing)
  return el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'table' }, el('table', {},
    el('thead', {}, el('tr', {}, ...columns.map(([label, , kind]) => el('th', { class: kind, scope: 'col' }, label)))),
    el('tbody', {}, ...rows.map(r => el('tr', {}, ...columns.map(([, cell, kind]) => el('td', { class: kind }, cell(r))))))))
}

function pager(offset, count, total, step, go) {
  return el('div', { class: 'pager' },
    el('button', { class: 'do', type: 'button', disabled: offset === 0, on: { click: () => go(Math.max(offset - step, 0)) } }, '← Back'),
    el('button', { class: 'do', type: 'button', disabled: offset + count >= total, on: { click: () => go(offset + step) } }, 'Next →'),
    el('span', { class: 'dim' }, total ? `${number(offset + 1)}–${number(offset + count)} of ${number(total)}` : 'none'))
}

const streamPath = (account, name, more = '') => `#/stream/${encodeURIComponent(account)}/${encodeURIComponent(name)}${more}`

function overview() {
  const top = el('div')
  const pIn = plot('Messages per second', ['in', 'out']), pBytes = plot('Bytes per second', ['in', 'out'], size)
  const pMem = plot('Memory', ['resident'], size), pConn = plot('Connections', ['open'])
  const rates = [rate(), rate(), rate(), rate()]
  main.replaceChildren(el('h2', {}, 'Overview'), top, el('div', { class: 'plots' }, pIn.box, pBytes.box, pMem.box, pConn.box))
  for (const p of [pIn, pBytes, pMem, pConn]) p.start()
  return {
    async tick(current) {
      const [v, j] = await Promise.all([ask('varz'), ask('jsz')])
      if (!current()) return
      const [im, om, ib, ob] = [v.in_msgs, v.out_msgs, v.in_bytes, v.out_bytes].map((n, i) => rates[i](n))
      pIn.add([im, om]); pBytes.add([ib, ob]); pMem.add([v.mem]); pConn.add([v.connections])
      top.replaceChildren(cards([
        ['connections', number(v.connections)], ['subscriptions', number(v.subscriptions)],
        ['messages in', number(v.in_msgs)], ['messages out', number(v.out_msgs)],
        ['slow consumers', number(v.slow_consumers), v.slow_consumers ? 'warn' : ''],
        ['CPU', `${(v.cpu ?? 0).toFixed(1)} %`], ['memory', size(v.mem)], ['up', v.uptime],
        ...(j.disabled ? [['streams', 'off']] : [
          ['streams', number(j.streams)], ['consumers', number(j.consumers)], ['stored messages', number(j.messages)], ['stored', size(j.bytes)]]),
      ]))
    },
  }
}

function streams() {
  const list = el('div')
  let offset = 0
  const step = 50
  main.replaceChildren(el('h2', {}, 'Streams'), list)
  const tick = async current => {
    const a = await ask('dashboard/api/streams', { offset, limit: step })
    if (!current()) return
    refill(list, () => [table([
      ['stream', s => el('a', { href: streamPath(s.account, s.name) }, s.name)],
      ['account', s => s.account],
      ['subjects', s => (s.subjects || []).join(', '), 'w'],
      ['messages', s => number(s.messages), 'n'],
      ['size', s => size(s.bytes), 'n'],
      ['partitions', s => number(s.partitions), 'n'],
      ['consumers', s => number(s.consumers), 'n'],
      ['last message', s => when(s.last_ts)],
    ], a.streams, 'There are no streams.'), pager(offset, (a.streams || []).length, a.total, step, o => { offset = o; tick(current) })])
  }
  return { tick }
}

// refill puts new content in, and leaves the focus where it was: on the same link or button.
function refill(box, make) {
  const active = box.contains(document.activeElement) ? document.activeElement : null
  const same = active && (active.getAttribute('href') ? `a[href="${CSS.escape(active.getAttribute('href'))}"]` : null)
  const index = active ? [...box.querySelectorAll('a, button, [tabindex]')].indexOf(active) : -1
  box.replaceChildren(...make())
  if (active) (same && box.querySelector(same) || box.querySelectorAll('a, button, [tabindex]')[index])?.focus({ preventScroll: true })
}

function stream(account, name) {
  const top = el('div'), parts = el('div'), consumers = el('div')
  const chosen = el('div', { class: 'plots' })
  let offset = 0, followed = '', lag, age
  const step = 50
  const follow = name => {
    for (const p of [lag, age]) if (p) plots.delete(p)
    followed = name
    lag = plot(`${name}: lag in messages`, ['to be delivered', 'unacknowledged'])
    age = plot(`${name}: lag in seconds`, ['oldest undelivered', 'oldest unacknowledged'], span)
    chosen.replaceChildren(lag.box, age.box)
    lag.start(); age.start()
  }
  main.replaceChildren(el('h2', {}, `Stream ${name}`, el('small', { class: 'dim' }, ` in ${account}`)), top,
    el('p', {}, el('a', { href: streamPath(account, name, '/messages') }, 'Look at messages')), parts, el('h2', {}, 'Consumers'), chosen, consumers)
  const tick = async current => {
    const [s, c] = await Promise.all([ask('dashboard/api/stream', { account, stream: name }), ask('dashboard/api/consumers', { account, stream: name, offset, limit: step })])
    if (!current()) return
    top.replaceChildren(cards([
      ['messages', number(s.messages)], ['size', size(s.bytes)], ['first sequence', number(s.first_seq)], ['last sequence', number(s.last_seq)],
      ['first message', when(s.first_ts)], ['last message', when(s.last_ts)], ['storage', s.storage], ['retention', s.retention], ['partitions', number(s.partitions)],
    ]))
    if (s.parts?.length > 1) refill(parts, () => [el('h2', {}, 'Partitions'), table([
      ['partition', p => number(p.partition), 'n'], ['messages', p => number(p.messages), 'n'], ['size', p => size(p.bytes), 'n'],
      ['first sequence', p => number(p.first_seq), 'n'], ['last sequence', p => number(p.last_seq), 'n'],
    ], s.parts, '')])
    const list = c.consumers || []
    if (!followed && list.length) follow(list[0].name)
    const f = list.find(x => x.name === followed)
    if (f) { lag.add([f.pending, f.ack_pending]); age.add([f.lag_seconds, f.ack_seconds]) }
    refill(consumers, () => [table([
      ['consumer', x => el('button', { class: 'do', type: 'button', 'aria-pressed': x.name === followed, on: { click: () => { follow(x.name); tick(current) } } }, x.name)],
      ['kind', x => (x.push ? 'push' : 'pull') + (x.durable ? ', durable' : '') + (x.paused ? ', paused' : '')],
      ['filter', x => (x.filters || ['everything']).join(', '), 'w'],
      ['to be delivered', x => number(x.pending), 'n'], ['undelivered for', x => span(x.lag_seconds), 'n'],
      ['unacknowledged', x => number(x.ack_pending), 'n'], ['unacknowledged for', x => span(x.ack_seconds), 'n'],
      ['redelivered', x => number(x.redelivered), 'n'], ['waiting', x => x.push ? (x.bound ? 'bound' : 'nobody listens') : number(x.waiting), 'n'],
    ], list, 'This stream has no consumers.'), pager(offset, list.length, c.total, step, o => { offset = o; tick(current) })])
  }
  return { tick }
}

const text = new TextDecoder('utf-8', { fatal: true })

// shown returns how a payload is shown: as JSON or text where it is that, or as hex.
function shown(bytes, as) {
  let s = null
  try { s = text.decode(bytes) } catch { /* not text */ }
  if (as === 'auto') {
    if (s === null || /[\x00-\x08\x0e-\x1f]/.test(s)) as = 'hex'
    else { try { if (/^\s*[[{]/.test(s)) { JSON.parse(s); as = 'json' } } catch { /* text */ } }
  }
  if (as === 'json' && s !== null) { try { return el('pre', {}, JSON.stringify(JSON.parse(s), null, 2)) } catch { as = 'text' } }
  if (as === 'hex' || s === null) {
    const lines = []
    for (let at = 0; at < bytes.length; at += 16) {
      const row = bytes.subarray(at, at + 16)
      const hex = [...row].map(b => b.toString(16).padStart(2, '0')).join(' ')
      lines.push(at.toString(16).padStart(6, '0') + '  ' + hex.padEnd(48) + ' ' + [...row].map(b => b > 31 && b < 127 ? String.fromCharCode(b) : '·').join(''))
    }
    return el('pre', { class: 'hex' }, lines.join('\n'))
  }
  return el('pre', {}, s)
}

function messages(account, name) {
  const list = el('div', { 'aria-live': 'polite' }), count = 20
  const from = el('input', { type: 'number', min: 1, value: 1, id: 'from' })
  const subject = el('input', { type: 'text', placeholder: '>', id: 'subject', spellcheck: 'false' })
  const as = el('select', { id: 'as' }, ...[['auto', 'what it is'], ['text', 'text'], ['json', 'JSON'], ['hex', 'hex']].map(([value, label]) => el('option', { value }, label)))
  let pages = [], found = [], next = 0
  const button = (label, f) => el('button', { class: 'do', type: 'button', on: { click: f } }, label)
  const back = button('← Back', () => { pages.pop(); load(pages.pop() ?? 1) })
  const forward = button('Next →', () => load(next))
  const newest = button('Newest', async () => {
    const s = await ask('dashboard/api/stream', { account, stream: name })
    load(Math.max(s.last_seq - count + 1, 1))
  })
  const draw = () => {
    list.replaceChildren(...(found.length ? found.map(m => {
      const bytes = Uint8Array.from(atob(m.data || ''), c => c.charCodeAt(0))
      return el('details', { open: found.length === 1 },
        el('summary', {}, el('b', {}, `#${m.seq}`), ` ${m.subject} `, el('span', { class: 'dim' }, `${when(m.time)}, ${size(m.size)}${m.header ? ', headers' : ''}`)),
        m.header ? el('pre', { class: 'headers' }, m.header.replace(/^NATS\/1\.0[^\n]*\n/, '').trim()) : null,
        shown(bytes, as.value), m.cut ? el('p', { class: 'warn' }, 'Only the beginning is shown.') : null)
    }) : [el('p', { class: 'dim' }, 'There are no messages from there on.')]))
    back.disabled = pages.length < 2
    forward.disabled = found.length < count
  }
  const load = async seq => {
    const mine = showing
    try {
      const a = await ask('dashboard/api/messages', { account, stream: name, from: seq, subject: subject.value.trim(), limit: count })
      if (mine !== showing) return
      found = a.messages || []
      pages.push(seq)
      from.value = seq
      next = found.length ? found[found.length - 1].seq + 1 : seq
      trouble('')
      draw()
    } catch (e) {
      if (mine === showing) list.replaceChildren(el('p', { class: 'bad', role: 'alert' }, e.message))
      back.disabled = forward.disabled = true
    }
  }
  as.addEventListener('change', draw)
  main.replaceChildren(el('h2', {}, `Messages of `, el('a', { href: streamPath(account, name) }, name)),
    el('form', { on: { submit: e => { e.preventDefault(); pages = []; load(Math.max(Number(from.value) || 1, 1)) } } },
      el('label', { for: 'from' }, 'from sequence', from), el('label', { for: 'subject' }, 'subject', subject), el('label', { for: 'as' }, 'show as', as),
      el('button', { class: 'do' }, 'Show'), newest),
    list, el('div', { class: 'pager' }, back, forward))
  load(1)
  return { tick: async () => {} }
}

function connections() {
  const list = el('div')
  let offset = 0, sort = 'cid'
  const step = 50
  const order = el('select', { id: 'sort', on: { change: e => { sort = e.target.value; offset = 0; tick(() => view.tick === tick) } } },
    ...[['cid', 'number'], ['msgs_from', 'messages from'], ['msgs_to', 'messages to'], ['bytes_from', 'bytes from'], ['bytes_to', 'bytes to'], ['pending', 'pending bytes'], ['subs', 'subscriptions'], ['rtt', 'round trip']]
      .map(([value, label]) => el('option', { value }, label)))
  main.replaceChildren(el('h2', {}, 'Connections'), el('form', {}, el('label', { for: 'sort' }, 'sorted by', order)), list)
  const tick = async current => {
    const a = await ask('connz', { offset, limit: step, sort, auth: 1 })
    if (!current()) return
    refill(list, () => [table([
      ['number', c => number(c.cid), 'n'], ['name', c => c.name || '–', 'w'], ['account', c => c.account || '–'], ['user', c => c.authorized_user || '–'],
      ['address', c => `${c.ip}:${c.port}`], ['client', c => [c.lang, c.version].filter(Boolean).join(' ') || '–'],
      ['messages from', c => number(c.in_msgs), 'n'], ['messages to', c => number(c.out_msgs), 'n'],
      ['bytes from', c => size(c.in_bytes), 'n'], ['bytes to', c => size(c.out_bytes), 'n'],
      ['pending', c => size(c.pending_bytes), 'n'], ['subscriptions', c => number(c.subscriptions), 'n'], ['round trip', c => c.rtt || '–', 'n'], ['up', c => c.uptime, 'n'],
    ], a.connections, 'Nobody is connected.'), pager(a.offset, a.num_connections, a.total, step, o => { offset = o; tick(current) })])
  }
  return { tick }
}

function route() {
  const [, kind, account, name, more] = location.hash.replace(/^#?/, '').split('/').map(decodeURIComponent)
  plots.clear()
  showing++
  trouble('')
  switch (kind) {
    case 'streams': view = streams(); break
    case 'stream': view = more === 'messages' ? messages(account, name) : stream(account, name); break
    case 'connections': view = connections(); break
    default: view = overview()
  }
  const here = kind === 'stream' ? 'streams' : kind || 'overview'
  for (const a of document.querySelectorAll('nav a')) {
    if (a.dataset.view === here) a.setAttribute('aria-current', 'page')
    else a.removeAttribute('aria-current')
  }
  look()
}

let timer
async function look() {
  clearTimeout(timer)
  const mine = showing
  const current = () => mine === showing
  try {
    if (!document.hidden) {
      await Promise.all([view.tick(current), health()])
      if (current()) trouble('')
    }
  } catch (e) {
    if (current()) trouble(e.status ? e.message : `The server does not answer: ${e.message}`)
  }
  if (current()) timer = setTimeout(look, every)
}

async function health() {
  const h = await ask('healthz')
  const box = document.getElementById('health')
  const words = h.status === 'ok' ? 'healthy' : `${h.status}: ${h.error || (h.errors || []).map(e => e.error).join('; ')}`
  if (box.textContent !== words) box.textContent = words
  box.className = h.status === 'ok' ? 'good' : 'bad'
}

document.getElementById('theme').addEventListener('click', () => {
  const root = document.documentElement
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  root.dataset.theme = dark ? 'light' : 'dark'
  try { localStorage.setItem('godwit-theme', root.dataset.theme) } catch { /* not kept */ }
  plots.forEach(p => p.start())
})
try { const t = localStorage.getItem('godwit-theme'); if (t) document.documentElement.dataset.theme = t } catch { /* not kept */ }
addEventListener('hashchange', () => { route(); main.focus({ preventScroll: true }) })
document.addEventListener('visibilitychange', () => { if (!document.hidden) look() })
ask('varz').then(v => {
  document.getElementById('server').textContent = `${v.server_name === v.server_id ? v.server_id.slice(0, 8) + '…' : v.server_name} · ${v.version}`
  document.title = `Godwit · ${v.server_name === v.server_id ? v.host + ':' + v.port : v.server_name}`
}).catch(() => {})
route()
