export default function Page() {
  return <p>Kalends</p>
}
