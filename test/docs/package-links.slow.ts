/** The content of the package: its size, its declarations, and the links of its pages. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { root } from '../repository/source-files.js'

interface Packed {
  /** The size of the archive in bytes. */
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

let size: number
let paths: string[]

beforeAll(() => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const text = execFileSync('npm', args, { cwd: root, encoding: 'utf8' })
  const [packed] = JSON.parse(text) as [Packed]
  size = packed.size
  paths = packed.files.map(({ path }) => path)
})

/** A page without code blocks, whose brackets are not links. */
function readProse(page: string): string {
  return readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(page: string): string[] {
  return [...readProse(page).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

/** @returns the file of the package that a link leads to, and the heading */
function resolveLink(page: string, to: string): { path: string; anchor: string } {
  const [file = '', anchor = ''] = to.split('#')
  // The pages of new projects lead to the installed package.
  if (file.startsWith('node_modules/filigree/'))
    return { path: file.slice('node_modules/filigree/'.length), anchor }
  return { path: file === '' ? page : relative(root, resolve(root, dirname(page), file)), anchor }
}

describe('the package', () => {
  it('is at most 3.6 MB', () => {
    expect(size).toBeLessThanOrEqual(3_600_000)
  })

  it('has no pictures of pages except the one of the README, and source maps only of the browser client', () => {
    expect(paths.filter((path) => /^docs\/.*\.png$/.test(path))).toEqual(['docs/development.png'])
    const maps = paths.filter((path) => path.endsWith('.map'))
    expect(maps.filter((path) => !path.startsWith('dist/client/'))).toEqual([])
  })

  it('has every declaration that another declaration imports', () => {
    const missing = paths
      .filter((path) => path.endsWith('.d.ts'))
      .flatMap((path) => {
        const imports = readFileSync(join(root, path), 'utf8').matchAll(
          /^(?:import|export)\b[^']*'(\.[^']+)\.js'|\bimport\('(\.[^']+)\.js'\)/gm,
        )
        return [...imports].map(([, from, call]) => `${join(dirname(path), from ?? call!)}.d.ts`)
      })
      .filter((path) => !paths.includes(path))
    expect(missing).toEqual([])
  })

  it('has no page with a link to a missing file or heading', () => {
    const pages = paths.filter((path) => path.endsWith('.md'))
    expect(pages).toContain('README.md')
    const dead = pages.flatMap((page) =>
      [...readProse(page).matchAll(/\]\(([^)\s]+)\)|\bsrc(?:set)?="([^"]+)"/g)]
        .map(([, link, image]) => link ?? image ?? '')
        .filter((to) => !/^\w+:|^\//.test(to))
        .filter((to) => {
          const { path, anchor } = resolveLink(page, to)
          if (!paths.some((packed) => packed === path || packed.startsWith(`${path}/`))) return true
          return anchor !== '' && !anchorsOf(path).includes(anchor)
        })
        .map((to) => `${page}: ${to}`),
    )
    expect(dead).toEqual([])
  })
})
