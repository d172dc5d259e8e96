/** Runs requests as pages write them, `curl localhost:3000/items --json '{"name":"Lamp"}'`, and formats responses as curl prints them. */
import { STATUS_CODES } from 'node:http'

/** The cookies of `-b jar -c jar`. */
export type Jar = Map<string, string>

/** The content of the files of `-F photo=@lamp.txt`. */
const fileText = 'a lamp\n'

/** @returns the output of curl */
export async function runCurl(
  command: string,
  origin: string,
  jar: Jar,
  send: (request: Request) => Response | Promise<Response>,
): Promise<string> {
  const { url, method, headers, body, isFull, usesJar } = readCurl(command)
  if (usesJar && jar.size > 0)
    headers.set('cookie', [...jar].map(([name, value]) => `${name}=${value}`).join('; '))
  const address = url.replace(/^localhost:3000/, origin)
  const request = new Request(address, { method, headers, body: body ?? null, redirect: 'manual' })
  const answer = await send(request)
  if (usesJar)
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      jar.set(name, value)
    }
  const text = await answer.text()
  if (!isFull) return text
  const lines = [...answer.headers].map(([name, value]) => `${name}: ${value}`)
  const status = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`
  return [status, ...lines, '', text].join('\n')
}

interface Curl {
  url: string
  method: string
  readonly headers: Headers
  body: string | FormData | undefined
  isFull: boolean
  usesJar: boolean
}

function readCurl(command: string): Curl {
  const [program, ...words] = readWords(command)
  if (program !== 'curl') throw new Error(`${command} is not a curl command.`)
  const curl: Curl = {
    ...{ url: '', method: 'GET', headers: new Headers(), body: undefined },
    ...{ isFull: false, usesJar: false },
  }
  let method: string | undefined
  while (words.length > 0) {
    const word = words.shift() ?? ''
    if (!word.startsWith('-')) curl.url = word
    else if (word === '-i') curl.isFull = true
    else if (word === '-X') method = words.shift()
    else take(curl, word, words.shift() ?? '')
  }
  curl.method = method ?? (curl.body === undefined ? 'GET' : 'POST')
  return curl
}

function take(curl: Curl, option: string, value: string): void {
  if (option === '-H') {
    const [, name = '', text = ''] = /^([^:]+):\s*(.*)$/.exec(value) ?? []
    curl.headers.set(name, text)
  } else if (option === '--json' || option === '-d') {
    const type = option === '-d' ? 'application/x-www-form-urlencoded' : 'application/json'
    if (!curl.headers.has('content-type')) curl.headers.set('content-type', type)
    curl.body = value
  } else if (option === '-F') {
    const form = curl.body instanceof FormData ? curl.body : new FormData()
    const [, name = '', at, text = ''] = /^([^=]+)=(@?)(.*)$/.exec(value) ?? []
    const file = at === '@' ? new File([fileText], text, { type: 'text/plain' }) : text
    if (typeof file === 'string') form.append(name, file)
    else form.append(name, file)
    curl.body = form
  } else if (option === '-b' && value.includes('=')) curl.headers.set('cookie', value)
  else if (option === '-b' || option === '-c') curl.usesJar = true
  else throw new Error(`curl ${option} is not known here.`)
}

/** Splits arguments like a shell. */
function readWords(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)
  return [...words].map(([word]) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'))
}
