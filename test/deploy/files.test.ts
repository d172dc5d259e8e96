/** The deployment files match their description in the documentation, and their formats are valid. Source: docs/production.md, Deploying. */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from '@jest/globals'

const folder = new URL('../../docs/deploy/', import.meta.url)
const read = (name: string): string => readFileSync(new URL(name, folder), 'utf8')
const page = readFileSync(new URL('../../docs/production.md', import.meta.url), 'utf8')

/** @returns the lines without comments. Lines that end with a backslash are joined */
function linesOf(name: string): string[] {
  const text = read(name).replace(/\\\n\s*/g, ' ')
  return text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
}

/** The YAML parser of a package that writes OpenAPI documents. */
const tools = createRequire(createRequire(import.meta.url).resolve('openapi3-ts'))
const { parseAllDocuments } = tools('yaml') as {
  parseAllDocuments: (text: string) => readonly { toJS(): unknown }[]
}
const loadAll = (text: string): unknown[] => parseAllDocuments(text).map((one) => one.toJS())

describe('docs/deploy', () => {
  it.each(readdirSync(folder))('%s is described on the page', (name) => {
    expect(page).toContain(`(deploy/${name})`)
  })

  it('the Dockerfile has two stages, another user than root, and a health check without curl', () => {
    const steps = linesOf('Dockerfile').map((line) => {
      const [, instruction = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
      expect([
        'FROM',
        'WORKDIR',
        'COPY',
        'RUN',
        'ENV',
        'USER',
        'EXPOSE',
        'HEALTHCHECK',
        'CMD',
      ]).toContain(instruction)
      return { instruction, rest }
    })
    expect(steps.filter(({ instruction }) => instruction === 'FROM')).toHaveLength(2)
    expect(steps.find(({ instruction }) => instruction === 'USER')?.rest).toBe('node')
    const health = steps.find(({ instruction }) => instruction === 'HEALTHCHECK')?.rest ?? ''
    const command = JSON.parse(health.slice(health.indexOf('['))) as string[]
    expect(command[0]).toBe('node')
    expect(command[2]).toContain('/health/live')
    // With `exec`, Node replaces the shell and gets SIGTERM.
    const [shell, option, script = ''] = JSON.parse(steps.at(-1)?.rest ?? '') as string[]
    expect([shell, option]).toEqual(['sh', '-c'])
    expect(script).toBe(
      'node_modules/.bin/filigree migrate up --module dist/main.js && exec node dist/main.js',
    )
  })

  it('the Dockerfile is the same as in a new project', () => {
    const template = readFileSync(
      new URL('../../templates/base/Dockerfile', import.meta.url),
      'utf8',
    )
    expect(read('Dockerfile')).toBe(template.replaceAll('{{name}}', 'shop'))
  })

  it('dockerignore is the same as in a new project', () => {
    const template = new URL('../../templates/base/_dockerignore', import.meta.url)
    expect(read('dockerignore')).toBe(readFileSync(template, 'utf8'))
  })

  it('the systemd unit stops it by SIGTERM, with time to close', () => {
    const found = new Map<string, string>()
    let section = ''
    for (const line of linesOf('shop.service')) {
      const [, name] = /^\[(\w+)\]$/.exec(line) ?? []
      if (name !== undefined) section = name
      else {
        expect(line).toMatch(/^\w+=.+$/)
        found.set(
          `${section}.${line.slice(0, line.indexOf('='))}`,
          line.slice(line.indexOf('=') + 1),
        )
      }
    }
    expect(found.get('Service.KillSignal')).toBe('SIGTERM')
    expect(Number(found.get('Service.TimeoutStopSec'))).toBeGreaterThan(11)
    expect(found.get('Install.WantedBy')).toBe('multi-user.target')
  })

  it('the manifest uses live to restart and ready to route, and gives time to close', () => {
    const [deployment, service] = loadAll(read('kubernetes.yaml'))
    expect(service).toMatchObject({ kind: 'Service', spec: { ports: [{ targetPort: 3000 }] } })
    expect(deployment).toMatchObject({
      kind: 'Deployment',
      spec: {
        strategy: { rollingUpdate: { maxUnavailable: 0 } },
        template: {
          spec: {
            terminationGracePeriodSeconds: 30,
            containers: [
              {
                livenessProbe: { httpGet: { path: '/health/live' } },
                readinessProbe: { httpGet: { path: '/health/ready' } },
                lifecycle: { preStop: { exec: { command: ['node', '-e', expect.any(String)] } } },
                resources: { limits: { memory: '768Mi' } },
              },
            ],
          },
        },
      },
    })
  })

  it.each([
    ['nginx.conf', 'proxy_set_header X-Forwarded-Proto $scheme;', 'proxy_set_header Forwarded "";'],
    [
      'haproxy.cfg',
      'http-request set-header X-Forwarded-Proto http unless { ssl_fc }',
      'http-request del-header Forwarded',
    ],
    [
      'Caddyfile',
      'reverse_proxy 127.0.0.1:3001 127.0.0.1:3002 127.0.0.1:3003 {',
      'header_up -Forwarded',
    ],
  ])('%s passes on no scheme that a client has written', (name, ...rules) => {
    const lines = linesOf(name).map((line) => line.trim())
    for (const rule of rules) expect(lines).toContain(rule)
  })
})
