/** Compresses a screenshot to an indexed PNG of 256 colours: the most frequent ones and the ones that differ most from them. Source: PNG specification, §5 and §11. */
import { crc32, deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'

interface Indexed {
  readonly width: number
  readonly height: number
  /** Red, green and blue of each colour. */
  readonly palette: readonly number[]
  /** One character for each pixel, row by row. Its code is the index of the colour. */
  readonly pixels: string
}

/** @param page the browser page that decodes the picture. Afterwards it shows an empty document */
export async function toSmallPng(page: Page, png: Buffer): Promise<Buffer> {
  await page.goto('about:blank')
  // The loader wraps named functions in a helper call, which the page does not have.
  await page.evaluate('globalThis.__name = (named) => named')
  const { width, height, palette, pixels } = await page.evaluate(
    toIndexed,
    `data:image/png;base64,${png.toString('base64')}`,
  )
  const rows = Array.from({ length: height }, (_, y) =>
    // Each row begins with the filter type 0, none.
    Buffer.from(`\0${pixels.slice(y * width, (y + 1) * width)}`, 'latin1'),
  )
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3], 8)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    toChunk('IHDR', header),
    toChunk('PLTE', Buffer.from(palette)),
    toChunk('IDAT', deflateSync(Buffer.concat(rows), { level: 9 })),
    toChunk('IEND', Buffer.alloc(0)),
  ])
}

function toChunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  const chunk = Buffer.alloc(body.length + 8)
  chunk.writeUInt32BE(data.length, 0)
  chunk.set(body, 4)
  chunk.writeUInt32BE(crc32(body), body.length + 4)
  return chunk
}

/** Runs in the page. */
async function toIndexed(address: string): Promise<Indexed> {
  const image = new Image()
  image.src = address
  await image.decode()
  const { width, height } = image
  const context = new OffscreenCanvas(width, height).getContext('2d')
  if (context === null) throw new Error('The page has no canvas.')
  context.drawImage(image, 0, 0)
  const { data } = context.getImageData(0, 0, width, height)
  const channels = (color: number): number[] => [color >> 16, (color >> 8) & 255, color & 255]
  const counts = new Map<number, number>()
  const colors = Array.from({ length: width * height }, (_, index) => {
    const [red = 0, green = 0, blue = 0] = data.subarray(index * 4, index * 4 + 3)
    const color = red * 65_536 + green * 256 + blue
    counts.set(color, (counts.get(color) ?? 0) + 1)
    return color
  })
  const common = [...counts].sort(([, one], [, other]) => other - one)
  const palette = common.slice(0, 160).map(([color]) => channels(color))
  // Then the colours that differ most from the palette, such as a small red star.
  const distance = (one: readonly number[], other: readonly number[]): number =>
    one.reduce((sum, value, channel) => sum + (value - (other[channel] ?? 0)) ** 2, 0)
  let rest = common.slice(160).map(([color, count]) => {
    const rgb = channels(color)
    return { rgb, count, far: Math.min(...palette.map((entry) => distance(rgb, entry))) }
  })
  while (palette.length < 256 && rest.length > 0) {
    const weightedError = ({ far, count }: (typeof rest)[number]): number => far * count
    const worst = rest.reduce((one, other) =>
      weightedError(other) > weightedError(one) ? other : one,
    )
    palette.push(worst.rgb)
    rest = rest.filter((one) => one !== worst)
    for (const one of rest) one.far = Math.min(one.far, distance(one.rgb, worst.rgb))
  }
  const letters = new Map<number, string>()
  for (const color of counts.keys()) {
    const rgb = channels(color)
    const distances = palette.map((entry) => distance(entry, rgb))
    letters.set(color, String.fromCharCode(distances.indexOf(Math.min(...distances))))
  }
  const pixels = colors.map((color) => letters.get(color)).join('')
  return { width, height, palette: palette.flat(), pixels }
}
