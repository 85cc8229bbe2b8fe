Creator "by hand"
graph [
  directed 0
  Network "Ring"
  node [ id 0 label "Bern" Internal 1 Longitude 7.4474 Latitude 46.948 ]
  node [ id 1 label "Genf" Internal 1 Longitude 6.1432 Latitude 46.2044 ]
  node [ id 2 label "Peer" Internal 0 ]
  node [ id 3 label "Peer" Internal 0 ]
  edge [ source 0 target 1 LinkSpeed "2.5" LinkSpeedUnits "G" LinkSpeedRaw 2500000000.0 ]
  edge [ source 0 target 1 LinkSpeed "2.5" LinkSpeedUnits "G" LinkSpeedRaw 2500000000.0 ]
  edge [ source 1 target 2 ]
  edge [ source 0 target 3 LinkLabel "dark fibre" ]
]
