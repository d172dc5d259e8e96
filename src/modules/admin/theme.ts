/** The colours of the page, made of one colour of the application. They are readable in light and in dark (WCAG 2.2, 1.4.3). */

type Rgb = readonly [red: number, green: number, blue: number]

/** The ground of cards in light and dark. `client/admin/admin.css` has the same. */
const lightCard: Rgb = [255, 255, 255]
const darkCard: Rgb = [26, 29, 32]
const white: Rgb = [255, 255, 255]
const black: Rgb = [0, 0, 0]
/** The contrast of text. AA requires 4.5, and rounding takes a little away. */
const minContrast = 4.6

/** @returns undefined unless the text is a colour such as `#0b6470` or `#06f` */
export function parseColour(text: unknown): Rgb | undefined {
  if (typeof text !== 'string' || !/^#(?:[\da-f]{3}|[\da-f]{6})$/i.test(text)) return undefined
  const digits = text.length === 4 ? text.slice(1).replace(/./g, '$&$&') : text.slice(1)
  const [red = 0, green = 0, blue = 0] = (digits.match(/../g) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  )
  return [red, green, blue]
}

/** A style sheet that replaces the accent of the page. */
export function themeCss(colour: Rgb): string {
  const light = readableOn(colour, lightCard, black)
  const dark = readableOn(colour, darkCard, white)
  const [lightTint, darkTint] = [tintOf(light, lightCard), tintOf(dark, darkCard)]
  const pair = (one: Rgb, other: Rgb): string => `light-dark(${toHex(one)}, ${toHex(other)})`
  return `:root {
  --accent: ${pair(light, dark)};
  --on-accent: ${pair(white, [8, 10, 12])};
  --tint: ${pair(lightTint, darkTint)};
}
`
}

/** Moves a colour towards another one until it is readable on the card and on its own tint. */
function readableOn(colour: Rgb, card: Rgb, towards: Rgb): Rgb {
  for (let share = 0; share < 1; share += 0.02) {
    const moved = mix(towards, colour, share)
    if (contrast(moved, tintOf(moved, card)) >= minContrast) return moved
  }
  return towards
}

function tintOf(colour: Rgb, card: Rgb): Rgb {
  return mix(colour, card, 0.12)
}

/** @param share of the first colour */
function mix(one: Rgb, other: Rgb, share: number): Rgb {
  const at = (index: 0 | 1 | 2): number =>
    Math.round(one[index] * share + other[index] * (1 - share))
  return [at(0), at(1), at(2)]
}

export function contrast(one: Rgb, other: Rgb): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance([red, green, blue]: Rgb): number {
  const linear = (value: number): number => {
    const part = value / 255
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

function toHex(colour: Rgb): string {
  return `#${colour.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
