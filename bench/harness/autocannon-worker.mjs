/** Runs autocannon in a process of its own and reports as wrk's script does. Argument: `{ url, request, seconds, connections }` as JSON. */
import autocannon from 'autocannon'

const { url, request, seconds, connections } = JSON.parse(process.argv[2])
const { method = 'GET', path = '', paths, headers, body } = request

let n = 0
const counted = (current) => ({ ...current, path: path.replace('{n}', String(++n)) })
const requests = request.requests ?? paths?.map((target) => ({ path: target }))
const result = await autocannon({
  url: requests || path.includes('{n}') ? url : url + path,
  connections,
  duration: seconds,
  method,
  headers,
  body,
  requests: requests ?? (path.includes('{n}') ? [{ setupRequest: counted }] : undefined),
})

const report = {
  requests: result.requests.total,
  microseconds: Math.round(result.duration * 1e6),
  errors: result.errors + result.timeouts,
  refused: result.non2xx,
  p50: Math.round(result.latency.p50 * 1000),
  p99: Math.round(result.latency.p99 * 1000),
}
process.stdout.write(`\nREPORT ${JSON.stringify(report)}\n`)
