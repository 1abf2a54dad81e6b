interface SelectProps {
  readonly label?: string
  readonly value: string
  readonly options: Readonly<Record<string, string>>
  readonly onChange?: (value: string) => void
}

export function Select({ label, options, onChange, ...attributes }: SelectProps) {
  return (
    <select aria-label={label} onChange={(event) => onChange?.(event.currentTarget.value)} {...attributes}>
      {Object.entries(options).map(([value, text]) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  )
}
