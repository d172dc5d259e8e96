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

/** Pictures and the maintainer pages are only in the repository and on the site. */
const outside = /\.(?:png|svg)$|^CONTRIBUTING\.md$|^docs\/maintainers\//

describe('the package', () => {
  it('is at most 3.3 MB', () => {
    expect(size).toBeLessThanOrEqual(3_300_000)
  })

  it('has no pictures of pages, and source maps only of the browser client', () => {
    expect(paths.filter((path) => /^docs\/.*\.png$/.test(path))).toEqual([])
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

  it('has no page with a link to a missing file', () => {
    const pages = paths.filter((path) => path.endsWith('.md') && !path.startsWith('templates/'))
    expect(pages).toContain('README.md')
    const dead = pages.flatMap((page) => {
      const prose = readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
      return [...prose.matchAll(/\]\(([^)\s#]+)[^)\s]*\)|\bsrc(?:set)?="([^"#]+)"/g)]
        .map(([, link, image]) => link ?? image ?? '')
        .filter((to) => !/^\w+:|^\//.test(to))
        .map((to) => relative(root, resolve(root, dirname(page), to)))
        .filter((path) => !outside.test(path))
        .filter((path) => !paths.some((packed) => packed === path || packed.startsWith(`${path}/`)))
        .map((path) => `${page}: ${path}`)
    })
    expect(dead).toEqual([])
  })
})
