/** Checks, before anything is timed, that every contender does the same work. Source: specification, Authentication 8. */
import { isDeepStrictEqual } from 'node:util'
import { cors } from '../servers/contract.mjs'

/** What is wrong with the answer to one probe, or `undefined`. */
async function findFault(url, probe) {
  const { method = 'GET', path, headers, body } = probe.request
  const response = await fetch(url + path, { method, headers, body })
  const text = await response.text()
  const asked = `${method} ${path}${body === undefined ? '' : ` ${body.slice(0, 120)}`}`
  if (![probe.status].flat().includes(response.status)) {
    return `${asked}: status ${response.status} instead of ${[probe.status].flat().join(' or ')}, body ${text.slice(0, 300)}`
  }
  for (const [name, value] of Object.entries(cors)) {
    const sent = response.headers.get(name)
    if (sent !== value) return `${asked}: ${name} is ${sent} instead of ${value}`
  }
  const type = probe.type ?? 'application/json'
  if (!response.headers.get('content-type')?.startsWith(type)) {
    return `${asked}: content-type ${response.headers.get('content-type')} instead of ${type}`
  }
  for (const [name, value] of Object.entries(probe.headers ?? {})) {
    const sent = response.headers.get(name)
    if (sent !== value) return `${asked}: ${name} is ${sent} instead of ${value}`
  }
  if (probe.text !== undefined && text !== probe.text) {
    return `${asked}: answered ${text.slice(0, 300)} instead of ${probe.text}`
  }
  if (probe.json !== undefined && !isDeepStrictEqual(JSON.parse(text), probe.json)) {
    return `${asked}: answered ${text.slice(0, 300)} instead of ${JSON.stringify(probe.json)}`
  }
  return undefined
}

/**
 * @param probes `{ request, status (one or several), json?, text?, headers?, type?, not? }`; `type` is the media type, JSON by default, `not` names the contenders the probe is not for
 * @throws {Error} naming the first answer that differs
 */
export async function assertSameAnswers(name, url, probes) {
  for (const probe of probes) {
    if (probe.not?.includes(name)) continue
    const fault = await findFault(url, probe)
    if (fault) throw new Error(fault)
  }
}
